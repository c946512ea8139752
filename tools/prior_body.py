"""The body of `posable.reconstruct` once more, in torch: what `tools/fit_prior.py` differentiates through.

The same steps as `reconstruct/prior_kernels.py` and the limb solver, without limits: features of what is known in a
frame, the mirrored network, and the analytic body it is completed to. Rotations are matrices here; rows are samples.
The 22 joints are those of specification reconstruct, section 2.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from posable.reconstruct import prior_layout as at
from posable.reconstruct.mirrors import mirror_table, mirrored_groups
from posable.reconstruct.prior_layout import ANSWERS, FEATURES, LAGS, POINTS, answer_groups, feature_groups

PARENTS = [-1, 0, 0, 2, 3, 4, 5, 6, 4, 8, 9, 10, 4, 12, 13, 14, 1, 16, 17, 1, 19, 20]
MARKERS = [0, 7, 11, 15, 18, 21]
BASES, MIDDLE, END = (9, 13, 16, 19), (10, 14, 17, 20), (11, 15, 18, 21)
"""Joints of the limbs: left arm, right arm, left leg, right leg."""
JOINTS = [*MARKERS, 10, 14, 17, 20, 4, 9, 13]
"""Of the points of `prior_layout`: elbows, knees, chest and shoulders after the six."""
PARTS = ((9, 10, 11), (13, 14, 15), (16, 17, 18), (19, 20, 21))
"""Joints of arms and legs, whose errors the network expects."""
PAIRS = ((2, 3, 1.0), (4, 5, 2.0), (6, 7, 1.0), (8, 9, 1.0), (11, 12, 4.0))  # left, right, weight in the frame's X
OWN = ((1, 1.0), (4, 0.3), (5, 0.3), (10, 2.0))  # parts whose X shows it, and weights
BEFORE = 0.02  # weight of the pelvis' X before
MOST_AWAY, SHARE = 5.0, 0.7071  # as in prior_kernels
SCALES = [0.3] * 6 + [0.15] * 12 + [0.2] * 18 + [0.4] * 12 + [0.15] * 3 + [0.2] * 12 + [1.0] * 5
"""How large what the network says usually is: pelvis' axes, elbows and knees, spine, hands and feet; ends; errors."""
MIDDLES = [1.0, 0, 0, 0, 1, 0, 0.12, 0.2, 0, -0.12, 0.2, 0, 0.06, -0.2, 0.1, -0.06, -0.2, 0.1] + [0.0] * 30
MIDDLES += [0.0, 0.38, 0.0, 0.15, 0, 0, -0.15, 0, 0, 0.06, -0.5, 0, -0.06, -0.5, 0] + [-4.0] * 5


def unit(v: Tensor) -> Tensor:
    return v / v.norm(dim=-1, keepdim=True).clamp_min(1e-9)


def dot(a: Tensor, b: Tensor) -> Tensor:
    return (a * b).sum(-1, keepdim=True)


def reject(v: Tensor, n: Tensor) -> Tensor:
    return v - dot(v, n) * n


def cross(a: Tensor, b: Tensor) -> Tensor:
    return torch.linalg.cross(a, b)


def turned(r: Tensor, v: Tensor) -> Tensor:
    """r v, as sums that a compiler can join."""
    return (r * v[..., None, :]).sum(-1)


def product(a: Tensor, b: Tensor) -> Tensor:
    return (a[..., :, :, None] * b[..., None, :, :]).sum(-2)


def matrix(q: Tensor) -> Tensor:
    w, x, y, z = q.unbind(-1)
    rows = [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)]
    rows += [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)]
    rows += [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]
    return torch.stack(rows, -1).reshape(*q.shape[:-1], 3, 3)


def hat(v: Tensor) -> Tensor:
    x, y, z = v.unbind(-1)
    o = torch.zeros_like(x)
    return torch.stack([o, -z, y, z, o, -x, -y, x, o], -1).reshape(*v.shape[:-1], 3, 3)


def exp(v: Tensor) -> Tensor:
    square = (v * v).sum(-1)[..., None, None] + 1e-12
    angle, k = square.sqrt(), hat(v)
    one = torch.eye(3, device=v.device)
    return one + torch.sin(angle) / angle * k + (1 - torch.cos(angle)) / square * product(k, k)


def between(a: Tensor, b: Tensor) -> Tensor:
    """The smallest rotation of the unit vector a to b."""
    k = hat(cross(a, b))
    return torch.eye(3, device=a.device) + k + product(k, k) / (1 + dot(a, b)[..., None]).clamp_min(1e-3)


def angle(a: Tensor, b: Tensor) -> Tensor:
    """Between rotations [rad]."""
    half = (((a - b) ** 2).sum((-1, -2)) / 8 + 1e-10).sqrt()
    return 2 * torch.asin(half.clamp_max(0.9999))


def forward(local: Tensor, offsets: Tensor, root: Tensor) -> tuple[Tensor, Tensor]:
    """(places, orientations) of the 22 joints."""
    world, places = [local[:, 0]], [root]
    for j in range(1, 22):
        above = PARENTS[j]
        places.append(places[above] + turned(world[above], offsets[:, j]))
        world.append(product(world[above], local[:, j]))
    return torch.stack(places, 1), torch.stack(world, 1)


def local_rotations(world: Tensor) -> Tensor:
    above = torch.stack([world[:, p] for p in PARENTS[1:]], 1)
    return torch.cat([world[:, :1], product(above.transpose(-1, -2), world[:, 1:])], 1)


def height(offsets: Tensor) -> Tensor:
    """Calf + thigh + pelvis + torso + neck."""
    length = offsets.norm(dim=-1)
    leg = 0.5 * (length[:, 17] + length[:, 20] + length[:, 18] + length[:, 21])
    pelvis = 0.5 * (offsets[:, 16, 1].abs() + offsets[:, 19, 1].abs())
    torso, neck = offsets[:, 2:6].sum(1).norm(dim=-1), offsets[:, 6:8].sum(1).norm(dim=-1)
    return leg + pelvis + torso + neck


def proportions(offsets: Tensor, tall: Tensor) -> Tensor:
    """(B, 18) as `posable.reconstruct.mirrors.proportions`."""
    length = offsets.norm(dim=-1)
    limbs = [0.5 * (length[:, a] + length[:, b]) for a, b in ((10, 14), (11, 15), (17, 20), (18, 21))]
    widths = [(offsets[:, a] - offsets[:, b]).norm(dim=-1) for a, b in ((9, 13), (16, 19))]
    chest, neck, head = (offsets[:, 2:n].sum(1) for n in (5, 6, 8))
    legs, trunk = 0.5 * (offsets[:, 16] + offsets[:, 19]), length[:, 2] + length[:, 3] + length[:, 4]
    shoulders = chest + 0.5 * (offsets[:, 8] + offsets[:, 9] + offsets[:, 12] + offsets[:, 13])
    lengths = [*limbs, head.norm(dim=-1), trunk, *widths, shoulders[:, 1] - neck[:, 1], length[:, 2]]
    ahead = [at[:, 2] for at in (offsets[:, 2], chest, neck, head, shoulders, legs)]
    return torch.stack([*lengths, *ahead, neck[:, 1], legs[:, 1]], -1) / tall[:, None]


def frame_of(y: Tensor, x: Tensor) -> Tensor:
    """(B, 3, 3) with axes as columns: y, and x made perpendicular to it."""
    x = unit(reject(x, y))
    return torch.stack([x, y, cross(x, y)], -1)


def _bent(x: Tensor) -> Tensor:
    return 0.5 * x * (1 + x * torch.rsqrt(1 + x * x))


def _bases(to: list[int], sign: list[float], size: int) -> tuple[Tensor, Tensor]:
    """Matrices whose rows are what a mirror keeps, and what it turns round."""
    table = mirror_table(to, sign)
    rows = torch.zeros(size, size)
    for k, (one, other, s, _) in enumerate(table.tolist()):
        rows[k, int(one)] = 1.0 if one == other else 0.5**0.5
        if one != other:
            rows[k, int(other)] = s * 0.5**0.5
    kept = int((table[:, 3] > 0.0).sum())
    return rows[:kept], rows[kept:]


def _spine(vectors: Tensor, offsets: Tensor, length: Tensor) -> Tensor:
    """Orientations (B, 6, 3, 3) of the spine's joints in the pelvis' frame, each turned a little to give the chord its
    length; the segment from the hips to the first of them is rigid with the pelvis.
    """
    local = exp(vectors)
    chain = [local[:, 0]]
    for k in range(1, 6):
        chain.append(product(chain[-1], local[:, k]))
    bends, bones = torch.stack(chain, 1), offsets[:, 3:8]
    for _ in range(2):  # Newton's steps of turning all segments towards the chord, or away from it
        steps = turned(bends[:, :5], bones)
        chord = offsets[:, 2] + steps.sum(1)
        now = chord.norm(dim=-1, keepdim=True)
        normal = cross(unit(steps), (chord / now)[:, None].expand_as(steps))
        sine = (normal * normal).sum(-1, keepdim=True).add(1e-8).sqrt()
        apart = torch.atan2(sine, dot(unit(steps), (chord / now)[:, None]))
        slope = (apart * steps.norm(dim=-1, keepdim=True) * sine).sum(1)
        share = ((length - now) / (slope + 2e-4)).clamp(-1, 0.9)
        turns = exp(normal / sine * apart * share[:, None])
        bends = product(torch.cat([turns, turns[:, 4:]], 1), bends)
    return bends


class Sample(NamedTuple):
    """What is seen of B poses, and what is true of them."""

    seen: Tensor
    """(B, 1 + lags, 13, 3) points now, and before."""
    axes: Tensor
    """(B, 2, 13, 2, 3) X and Y of the parts, now and before."""
    known: Tensor
    """(B, 13) whether each point is known; `oriented`: each orientation."""
    oriented: Tensor
    heading: Tensor
    """(B, 3) the pelvis' X before."""
    up: Tensor
    sway: Tensor
    """(B,) [rad] that the frame is off by."""
    floor: Tensor
    """(B,) whether there is one, at `level`."""
    level: Tensor
    offsets: Tensor
    tall: Tensor
    places: Tensor
    world: Tensor

    def frame(self) -> Tensor:
        """(B, 3, 3): the hips' where their orientation is known; else Y up or from hips to head, X by what shows it."""
        points, known, turns = self.seen[:, 0], self.known, self.oriented
        chord = (known[:, 0] * known[:, 1])[:, None]
        y = unit(torch.where(chord > 0.0, points[:, 1] - points[:, 0], self.up))
        x = BEFORE * self.heading
        for a, b, weight in PAIRS:
            both = (known[:, a] * known[:, b])[:, None]
            x = x + weight * both * (points[:, a] - points[:, b]) / self.tall[:, None]
        for k, weight in OWN:
            x = x + weight * turns[:, k : k + 1] * self.axes[:, 0, k, 0]
        frame = frame_of(y, x)
        c, s = torch.cos(self.sway)[:, None], torch.sin(self.sway)[:, None]
        frame = torch.stack(
            [c * frame[..., 0] - s * frame[..., 2], frame[..., 1], s * frame[..., 0] + c * frame[..., 2]], -1
        )
        return torch.where(turns[:, :1, None] > 0.0, oriented_as(self.axes[:, 0, 0]), frame)

    def features(self) -> Tensor:
        """(B, FEATURES), not centred."""
        frame, known, turns, tall = self.frame(), self.known, self.oriented, self.tall
        back, now = frame.transpose(1, 2), self.seen[:, 0]
        origin = torch.where(known[:, :1] > 0.0, now[:, 0], now[:, 1])
        scale = tall[:, None, None]
        places = turned(back[:, None], now - origin[:, None]) / scale * known[..., None]
        paths = turned(back[:, None, None], self.seen[:, 1:] - now[:, None]) / scale[..., None]
        paths = paths * known[:, None, :, None]
        axes = turned(back[:, None, None, None], self.axes).transpose(2, 3) * turns[:, None, None, :, None]
        up = turned(back, self.up)
        above = (now[:, :2, 1] - self.level[:, None]) / tall[:, None] * known[:, :2] * self.floor[:, None]
        chord = (known[:, 0] * known[:, 1]) * (now[:, 1] - now[:, 0]).norm(dim=-1)
        long = self.offsets[:, 2:8].sum(1).norm(dim=-1)
        chord = 10.0 * (chord / long - known[:, 0] * known[:, 1])
        parts = [known, places.flatten(1), paths.flatten(1), turns, axes[:, 0].flatten(1)]
        parts += [(axes[:, 1] - axes[:, 0]).flatten(1), up, above, chord[:, None], proportions(self.offsets, tall)]
        return torch.cat(parts, -1)


def oriented_as(axes: Tensor) -> Tensor:
    """(..., 3, 3) of X and Y in rows (..., 2, 3)."""
    x, y = axes.unbind(-2)
    return torch.stack([x, y, cross(x, y)], -1)


class Net(torch.nn.Module):
    """The mirrored network of `prior_kernels`; `hidden` counts pairs of units."""

    def __init__(self, hidden: list[int]) -> None:
        super().__init__()
        self.register_buffer("dropout", torch.zeros(()), persistent=False)  # in training
        for name, groups, size in (("in", feature_groups(), FEATURES), ("out", answer_groups(), ANSWERS)):
            kept, gone = _bases(*mirrored_groups(groups), size)
            self.register_buffer(f"{name}_s", kept)
            self.register_buffer(f"{name}_a", gone)
        s, a = len(self.in_s), len(self.in_a)
        self.register_buffer("centre", torch.zeros(FEATURES))
        self.register_buffer("deviation_s", torch.ones(s))
        self.register_buffer("deviation_a", torch.ones(a))
        self.register_buffer("gates", gates())
        self.register_buffer("scales", torch.tensor(SCALES))
        self.register_buffer("middles", torch.tensor(MIDDLES))
        ns, na = len(self.out_s), len(self.out_a)
        self.skip_s, self.skip_a = torch.nn.Linear(s, ns, bias=False), torch.nn.Linear(a, na, bias=False)
        ins, outs = [(s, a), *((n, n) for n in hidden)], [*((n, n) for n in hidden), (ns, na)]
        self.s = torch.nn.ModuleList(torch.nn.Linear(i[0], o[0]) for i, o in zip(ins, outs, strict=True))
        self.a = torch.nn.ModuleList(torch.nn.Linear(i[1], o[1], bias=False) for i, o in zip(ins, outs, strict=True))
        with torch.no_grad():
            for last in (self.s[-1], self.a[-1], self.skip_s, self.skip_a):
                last.weight.mul_(0.1)

    def centred(self, x: Tensor) -> Tensor:
        """Features less the centre, where they are known."""
        flags = torch.cat([x, torch.ones_like(x[:, :1])], 1)
        return x - self.centre * flags[:, self.gates[:, 0]] * flags[:, self.gates[:, 1]]

    def standardise(self, x: Tensor) -> None:
        bits = torch.cat([x, torch.ones_like(x[:, :1])], 1)[:, self.gates].prod(-1)
        mean = (x * bits).sum(0) / bits.sum(0).clamp_min(1.0)
        to, sign = mirrored_groups(feature_groups())
        mean = 0.5 * (mean + mean[to] * torch.tensor(sign, device=x.device))
        mean[: at.POSITIONS] = mean[at.ORIENTED : at.LEFTS] = 0.0
        self.centre.copy_(mean)
        x = self.centred(x)
        s, a = x @ self.in_s.T, x @ self.in_a.T
        self.deviation_s.copy_((s * s).mean(0).sqrt().clamp_min(2e-2))
        self.deviation_a.copy_((a * a).mean(0).sqrt().clamp_min(2e-2))

    def forward(self, x: Tensor) -> Tensor:
        x = self.centred(x)
        s = ((x @ self.in_s.T) / self.deviation_s).clamp(-MOST_AWAY, MOST_AWAY)
        a = ((x @ self.in_a.T) / self.deviation_a).clamp(-MOST_AWAY, MOST_AWAY)
        straight_s, straight_a = self.skip_s(s), self.skip_a(a)
        for kept, gone in zip(self.s[:-1], self.a[:-1], strict=True):
            u, v = kept(s), gone(a)
            plus, minus = _bent(u + v), _bent(u - v)
            s, a = SHARE * (plus + minus), SHARE * (plus - minus)
            if self.training:
                stays = (torch.rand_like(s) > self.dropout) / (1 - self.dropout)
                s, a = s * stays, a * stays
        s, a = straight_s + self.s[-1](s), straight_a + self.a[-1](a)
        return (s @ self.out_s + a @ self.out_a) * self.scales + self.middles


def gates() -> Tensor:
    """(FEATURES, 2) the features that say whether each is known; FEATURES: always 1."""
    out = torch.full((FEATURES, 2), FEATURES, dtype=torch.long)
    for k in range(POINTS):
        for first in (at.POSITIONS, *(at.PATHS + 3 * POINTS * n for n in range(len(LAGS)))):
            out[first + 3 * k : first + 3 * k + 3, 0] = k
        for first in (at.LEFTS, at.UPS, at.LEFT_PATHS, at.UP_PATHS):
            out[first + 3 * k : first + 3 * k + 3, 0] = at.ORIENTED + k
    out[at.HEIGHTS, 0], out[at.HEIGHTS + 1, 0], out[at.CHORD] = 0, 1, torch.tensor([0, 1])
    return out


def row(values: Tensor, which: tuple[int, ...]) -> Tensor:
    """Some entries along axis 1, without an index that would have to be brought to the device."""
    return torch.stack([values[:, k] for k in which], 1)


def reconstruct(said: Tensor, sample: Sample) -> tuple[Tensor, Tensor]:
    """(places, orientations) (B, 22, ...) of a body on its known points, as the network says."""
    frame, tall, offsets, known = sample.frame(), sample.tall[:, None], sample.offsets, sample.known
    now, given = sample.seen[:, 0], oriented_as(sample.axes[:, 0])  # (B, 13, 3, 3)
    turns = sample.oriented[..., None, None] > 0.0
    chord = turned(frame, said[:, 48:51]) * tall
    hips = torch.where(known[:, :1] > 0.0, now[:, 0], now[:, 1] - chord)
    head = torch.where(known[:, 1:2] > 0.0, now[:, 1], hips + chord)
    bends, world = _trunk(said, frame, offsets, head - hips, given, turns)
    world = [world, world, *(product(world, bends[:, k]) for k in range(6))]
    places = [hips, hips, hips + turned(world[0], offsets[:, 2])]
    for k in range(5):
        places.append(places[2 + k] + turned(world[2 + k], offsets[:, 3 + k]))
    world[7] = torch.where(turns[:, 1], given[:, 1], world[7])
    bases = [places[4] + turned(world[4], offsets[:, j - 1] + offsets[:, j]) for j in BASES[:2]]
    bases += [hips + turned(world[0], offsets[:, j]) for j in BASES[2:]]
    ends = hips[:, None] + turned(frame[:, None], said[:, 51:63].reshape(-1, 4, 3)) * tall[..., None]
    mids = hips[:, None] + turned(frame[:, None], said[:, 6:18].reshape(-1, 4, 3)) * tall[..., None]
    ends = torch.where(known[:, 2:6, None] > 0.0, now[:, 2:6], ends)
    a, mids, ends, upper, lower, end = _limbs(said, torch.stack(bases, 1), mids, ends, sample, given, turns)
    clavicles = [places[4] + turned(world[4], offsets[:, j]) for j in (8, 12)]
    for n in range(4):
        if n < 2:
            places.append(clavicles[n])
            world.append(world[4])
        places += [a[:, n], mids[:, n], ends[:, n]]
        world += [upper[:, n], lower[:, n], end[:, n]]
    return torch.stack(places, 1), torch.stack(world, 1)


def _trunk(
    said: Tensor, frame: Tensor, offsets: Tensor, goal: Tensor, given: Tensor, turns: Tensor
) -> tuple[Tensor, Tensor]:
    """(orientations of the spine in the pelvis' frame (B, 6, 3, 3), the pelvis')."""
    x = unit(said[:, 0:3])
    y = unit(reject(said[:, 3:6], x))
    estimate = product(frame, torch.stack([x, y, cross(x, y)], -1))
    length = goal.norm(dim=-1, keepdim=True).clamp_min(1e-3)
    bends = _spine(said[:, 18:36].reshape(-1, 6, 3), offsets, length)
    way = unit(offsets[:, 2] + turned(bends[:, :5], offsets[:, 3:8]).sum(1))
    aim = goal / length
    pelvis = torch.where(turns[:, 0], given[:, 0], product(between(turned(estimate, way), aim), estimate))
    bent = between(way, turned(given[:, 0].transpose(1, 2), aim))
    return torch.where(turns[:, :1], product(bent[:, None], bends), bends), pelvis


def _limbs(
    said: Tensor, a: Tensor, mids: Tensor, ends: Tensor, sample: Sample, given: Tensor, turns: Tensor
) -> tuple[Tensor, ...]:
    """(bases, middles, ends, orientations of upper bones, lower bones, ends) of the four limbs (B, 4, ...), on what is
    known of them: elbows and knees, or the orientations of forearms, calves and upper arms, show the swivel.
    """
    middle, end = row(sample.offsets, MIDDLE), row(sample.offsets, END)
    upper, lower = middle.norm(dim=-1, keepdim=True), end.norm(dim=-1, keepdim=True)
    arms = torch.where(turns[:, 11:13, :, 0], a[:, :2] + turned(given[:, 11:13], middle[:, :2]), mids[:, :2])
    mids = torch.cat([arms, mids[:, 2:]], 1)
    mids = torch.where(turns[:, 6:10, :, 0], ends - turned(given[:, 6:10], end), mids)
    mids = torch.where(sample.known[:, 6:10, None] > 0.0, sample.seen[:, 0, 6:10], mids)
    along = ends - a
    far = along.norm(dim=-1, keepdim=True)
    along = along / far.clamp_min(1e-6)
    far = torch.minimum(torch.maximum(far, (upper - lower).abs() + 1e-3), (upper + lower) * 0.99999)
    pole = unit(reject(mids - a, along))
    forth = (far * far + upper * upper - lower * lower) / (2 * far)
    aside = (upper * upper - forth * forth).clamp_min(1e-8).sqrt()
    mids, ends = a + along * forth + pole * aside, a + along * far
    up = -unit(mids - a)
    ahead = unit(reject(torch.cat([-pole[:, :2], pole[:, 2:]], 1), up))
    hinge = cross(up, ahead)
    thigh = torch.stack([hinge, up, ahead], -1)
    up = -unit(ends - mids)
    calf = torch.stack([hinge, up, cross(hinge, up)], -1)
    own = product(calf, exp(said[:, 36:48].reshape(-1, 4, 3)))
    return a, mids, ends, thigh, calf, torch.where(turns[:, 2:6], given[:, 2:6], own)
