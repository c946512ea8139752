"""The body of `posable.reconstruct` once more, in torch: what `tools/fit_six.py` differentiates through.

The same steps as `reconstruct/six_kernels.py` and the limb solver, without limits: features of six points in a frame,
the mirrored network, and the analytic body it is completed to. Rotations are matrices here; rows are samples.
The 22 joints are those of specification reconstruct, section 2.
"""

from __future__ import annotations

import torch
from torch import Tensor

from posable.reconstruct.mirrors import mirror_table
from posable.reconstruct.six_positions import FEATURES, answer_mirror, feature_mirror

PARENTS = [-1, 0, 0, 2, 3, 4, 5, 6, 4, 8, 9, 10, 4, 12, 13, 14, 1, 16, 17, 1, 19, 20]
MARKERS = [0, 7, 11, 15, 18, 21]
LIMBS = [(9, 10, 11, 2, -1.0), (13, 14, 15, 3, -1.0), (16, 17, 18, 4, 1.0), (19, 20, 21, 5, 1.0)]
"""Base, middle and end joint, marker, and which way the middle joint's z axis looks along the pole."""
LAGS = [0, 1, 2, 4, 8, 16]  # thirtieths of a second
MOST_AWAY, SHARE = 5.0, 0.7071  # as in prior_kernels
SCALES = [0.3] * 6 + [0.15] * 12 + [0.2] * 18 + [0.4] * 12
"""How large what the network says usually is: pelvis' axes, elbows and knees, spine, hands and feet."""
MIDDLES = [1.0, 0, 0, 0, 1, 0, 0.12, 0.2, 0, -0.12, 0.2, 0, 0.06, -0.2, 0.1, -0.06, -0.2, 0.1] + [0.0] * 30


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
    torso, neck = offsets[:, 3:6].sum(1).norm(dim=-1), offsets[:, 6:8].sum(1).norm(dim=-1)
    return leg + pelvis + torso + neck


def proportions(offsets: Tensor, tall: Tensor) -> Tensor:
    """(B, 9) as `posable.reconstruct.mirrors.proportions`."""
    length = offsets.norm(dim=-1)
    limbs = [0.5 * (length[:, a] + length[:, b]) for a, b in ((10, 14), (11, 15), (17, 20), (18, 21))]
    widths = [(offsets[:, a] - offsets[:, b]).norm(dim=-1) for a, b in ((9, 13), (16, 19))]
    chord, trunk = offsets[:, 3:8].sum(1).norm(dim=-1), length[:, 3] + length[:, 4]
    shoulders = 0.5 * (offsets[:, 9, 1] + offsets[:, 13, 1])
    return torch.stack([*limbs, chord, trunk, *widths, shoulders], -1) / tall[:, None]


def frame_of(y: Tensor, x: Tensor) -> Tensor:
    """(B, 3, 3) with axes as columns: y, and x made perpendicular to it."""
    x = unit(reject(x, y))
    return torch.stack([x, y, cross(x, y)], -1)


def features(window: Tensor, frame: Tensor, offsets: Tensor, tall: Tensor, up: Tensor) -> Tensor:
    """(B, 127) of the six points at each lag (B, 6, 6, 3), as `six_kernels.write_six_features`."""
    hips = window[:, 0, 0]
    local = (((window - hips[:, None, None]) / tall[:, None, None, None])[..., :, None] * frame[:, None, None]).sum(-2)
    now = local[:, 0]
    parts = [now[:, 2:].flatten(1)]
    parts += [(local[:, lag] - now).flatten(1) for lag in range(1, 6)]
    parts.append((up[:, :, None] * frame).sum(1))
    for lag in (0, 3, 5):
        for left, right in ((2, 3), (4, 5)):
            across = (local[:, lag, left] - local[:, lag, right])[:, [0, 2]]
            parts.append(across / (across * across).sum(-1, keepdim=True).add(1e-4).sqrt())
    length, chord = (window[:, 0, 1] - hips).norm(dim=-1), offsets[:, 3:8].sum(1).norm(dim=-1)
    return torch.cat([*parts, 10 * (length / chord)[:, None], proportions(offsets, tall)], -1)


class Net(torch.nn.Module):
    """The mirrored network of `prior_kernels`; `hidden` counts pairs of units."""

    def __init__(self, hidden: list[int], dropout: float) -> None:
        super().__init__()
        for name, mirror, size in (("in", feature_mirror(), FEATURES), ("out", answer_mirror(), len(SCALES))):
            kept, gone = _bases(*mirror, size)
            self.register_buffer(f"{name}_s", kept)
            self.register_buffer(f"{name}_a", gone)
        s, a = len(self.in_s), len(self.in_a)
        self.register_buffer("mean", torch.zeros(s))
        self.register_buffer("deviation_s", torch.ones(s))
        self.register_buffer("deviation_a", torch.ones(a))
        self.register_buffer("scales", torch.tensor(SCALES))
        self.register_buffer("middles", torch.tensor(MIDDLES))
        self.dropout, ns, na = dropout, len(self.out_s), len(self.out_a)
        self.skip_s, self.skip_a = torch.nn.Linear(s, ns, bias=False), torch.nn.Linear(a, na, bias=False)
        ins = [(s, a), *((n, n) for n in hidden)]
        outs = [*((n, n) for n in hidden), (ns, na)]
        self.s = torch.nn.ModuleList(torch.nn.Linear(i[0], o[0]) for i, o in zip(ins, outs, strict=True))
        self.a = torch.nn.ModuleList(torch.nn.Linear(i[1], o[1], bias=False) for i, o in zip(ins, outs, strict=True))
        with torch.no_grad():
            for last in (self.s[-1], self.a[-1], self.skip_s, self.skip_a):
                last.weight.mul_(0.1)

    def standardise(self, x: Tensor) -> None:
        s, a = x @ self.in_s.T, x @ self.in_a.T
        self.mean.copy_(s.mean(0))
        self.deviation_s.copy_(s.std(0).clamp_min(1e-3))
        self.deviation_a.copy_((a * a).mean(0).sqrt().clamp_min(1e-3))

    def forward(self, x: Tensor) -> Tensor:
        s = ((x @ self.in_s.T - self.mean) / self.deviation_s).clamp(-MOST_AWAY, MOST_AWAY)
        a = ((x @ self.in_a.T) / self.deviation_a).clamp(-MOST_AWAY, MOST_AWAY)
        straight_s, straight_a = self.skip_s(s), self.skip_a(a)
        for kept, gone in zip(self.s[:-1], self.a[:-1], strict=True):
            u, v = kept(s), gone(a)
            plus, minus = _bent(u + v), _bent(u - v)
            s, a = SHARE * (plus + minus), SHARE * (plus - minus)
            if self.dropout and self.training:
                stays = (torch.rand_like(s) > self.dropout) / (1 - self.dropout)
                s, a = s * stays, a * stays
        s, a = straight_s + self.s[-1](s), straight_a + self.a[-1](a)
        return (s @ self.out_s + a @ self.out_a) * self.scales + self.middles


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


def reconstruct(said: Tensor, points: Tensor, frame: Tensor, offsets: Tensor, tall: Tensor) -> tuple[Tensor, Tensor]:
    """(places, orientations) (B, 22, ...) of a body on its six points (B, 6, 3), as the network says."""
    x = unit(said[:, 0:3])
    y = unit(reject(said[:, 3:6], x))
    estimate = product(frame, torch.stack([x, y, cross(x, y)], -1))
    goal = points[:, 1] - points[:, 0]
    length = goal.norm(dim=-1, keepdim=True)
    bends = _spine(said[:, 18:36].reshape(-1, 6, 3), offsets, length)
    steps = [turned(bends[k], offsets[:, 3 + k]) for k in range(5)]
    pelvis = product(between(unit(turned(estimate, sum(steps))), goal / length), estimate)
    world, places = {0: pelvis, 1: pelvis}, {0: points[:, 0], 1: points[:, 0], 2: points[:, 0]}
    for k in range(6):
        world[2 + k] = product(pelvis, bends[k])
    for k in range(5):
        places[3 + k] = places[2 + k] + turned(pelvis, steps[k])
    for j in (8, 12):
        places[j], world[j] = places[4] + turned(world[4], offsets[:, j]), world[4]
    for n in range(4):
        _limb(n, said, points, frame, offsets, tall, places, world)
    return torch.stack([places[j] for j in range(22)], 1), torch.stack([world[j] for j in range(22)], 1)


def _spine(vectors: Tensor, offsets: Tensor, length: Tensor) -> list[Tensor]:
    """Orientations of the spine's joints in the pelvis' frame, each turned a little to give the chord its length."""
    local = exp(vectors)
    bends = [local[:, 0]]
    for k in range(1, 6):
        bends.append(product(bends[-1], local[:, k]))
    for _ in range(2):  # Newton's steps of turning all segments towards the chord, or away from it
        steps = [turned(bends[k], offsets[:, 3 + k]) for k in range(5)]
        chord = sum(steps)
        now = chord.norm(dim=-1, keepdim=True)
        ways, slope = [], 0.0
        for step in steps:
            normal = cross(unit(step), chord / now)
            sine = (normal * normal).sum(-1, keepdim=True).add(1e-8).sqrt()
            apart = torch.atan2(sine, dot(unit(step), chord / now))
            ways.append(normal / sine * apart)
            slope = slope + apart * step.norm(dim=-1, keepdim=True) * sine
        share = ((length - now) / (slope + 2e-4)).clamp(-1, 0.9)
        for k in range(5):
            turn = exp(ways[k] * share)
            bends[k] = product(turn, bends[k])
        bends[5] = product(turn, bends[5])
    return bends


def _limb(n: int, said: Tensor, points: Tensor, frame: Tensor, offsets: Tensor, tall: Tensor, places, world) -> None:
    """An arm or a leg on its point, its elbow or knee towards where the network has it."""
    base, mid, end, marker, way = LIMBS[n]
    above = PARENTS[base]
    a = places[above] + turned(world[above], offsets[:, base])
    upper, lower = offsets[:, mid].norm(dim=-1, keepdim=True), offsets[:, end].norm(dim=-1, keepdim=True)
    along = points[:, marker] - a
    far = along.norm(dim=-1, keepdim=True)
    along = along / far.clamp_min(1e-6)
    far = torch.minimum(torch.maximum(far, (upper - lower).abs() + 1e-3), (upper + lower) * 0.99999)
    guess = points[:, 0] + turned(frame, said[:, 6 + 3 * n : 9 + 3 * n]) * tall[:, None]
    pole = unit(reject(guess - a, along))
    forth = (far * far + upper * upper - lower * lower) / (2 * far)
    aside = (upper * upper - forth * forth).clamp_min(1e-8).sqrt()
    places[base], places[mid], places[end] = a, a + along * forth + pole * aside, a + along * far
    up = -unit(places[mid] - a)
    ahead = unit(reject(way * pole, up))
    hinge = cross(up, ahead)
    world[base] = torch.stack([hinge, up, ahead], -1)
    up = -unit(places[end] - places[mid])
    world[mid] = torch.stack([hinge, up, cross(hinge, up)], -1)
    world[end] = product(world[mid], exp(said[:, 36 + 3 * n : 39 + 3 * n]))
