"""What `tools/fit_prior.py` learns from: poses of cmu_poses with other bodies and habits, as trackers see them.

Everything that a sample draws comes from torch's generator on the device, without a number going back to the host, so
that a whole step of the fit is one graph on a GPU. A main sample is a pose as it was captured (with its varied body);
the first of them also have a twin, the same body and trackers 1/30 s earlier: what the fit learns not to shake by.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import prior_body as body
import torch
from torch import Tensor

from posable.reconstruct.prior_layout import LAGS, ORIENTATION_LAG, POINTS

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SAME_PERSON = ["63 64", "70 73 123", "74 84", "78 102", "91 105", "93 103", "106 141"]  # ../shared/data/cmu/README.md
SAME_SCENE = ["18 19", "20 21", "22 23"]
STEPS_BACK = [round(10 * lag) for lag in LAGS]  # rows of cmu_poses, ten a second
EARLIER = 1.0 / 3.0  # rows between a pose and its twin

THREE, FEET, SIX = (1, 2, 3), (1, 2, 3, 4, 5), (0, 1, 2, 3, 4, 5)
SETS = ((0.27, THREE), (0.16, (0, *THREE)), (0.10, FEET), (0.30, SIX))  # shares and points; the rest any of the six
MORE, ALL, EACH = 0.3, 0.3, 0.4  # share with elbows, knees, chest, shoulders; of it, with all but shoulders; each
ORIENTED, BARE = 0.45, 0.4  # share with all orientations; with none; the rest some
LOST, EACH_LOST = 0.12, 0.3  # share of samples that lose points; each of them
SHIFTED, SHIFT, ROTATED = 0.25, 0.05, math.radians(15.0)  # share of samples; up to [m], [rad]
NOISY, NOISE, SHAKEN = 0.15, 0.01, 0.05  # share of samples; up to so much of the height; [rad]
SHIVER, TREMBLE = 0.0003, 0.003  # noise of all samples: of the height; [rad]
ALONE, PACE, TILT = 0.15, 0.2, 0.05  # share without a past; log; [rad]
HEADING, NO_HEADING, UNSURE = 0.3, 0.3, 0.1  # [rad] of the heading before; share without; [rad] of the frame
NO_FLOOR, BOTH_FEET, FLOOR = 0.15, 0.8, 0.02  # share without a floor; where both feet are known; its error [m]
TUMBLED = 0.04  # share of samples turned any way about the hips
BONES, UNUSUAL, HABIT = 0.05, 0.2, 0.06  # log of lengths, and of those of the most unusual bodies; [rad]
ANKLE = 0.044  # heights that ankles are above the floor
# Of the most unusual bodies, in heights: how far hips, legs, the spine's joints and shoulders are moved.
HIPS_AHEAD, HIPS_UP, LEGS_AHEAD, LEGS_UP, CURVED = 0.05, 0.05, 0.04, 0.02, 0.015
SHOULDERS_AHEAD, SHOULDERS_UP, SHOULDERS_DOWN = 0.02, 0.03, 0.03
MIXED = 0.12  # share of clips whose left or right arm is another clip's
GROUPS = ((3, 4), (5, 8, 12), (6, 7), (10, 14), (11, 15), (17, 20), (18, 21), (9, 13), (16, 19))  # bones of one scale
HABITS = (0, 2, 3, 4, 5, 6, 7, 9, 13, 16, 19)  # joints


def normal(*shape: int) -> Tensor:
    return torch.randn(*shape, device=DEVICE)


def uniform(*shape: int) -> Tensor:
    return torch.rand(*shape, device=DEVICE)


class Poses:
    """Everything of cmu_poses on the device; a row a pose."""

    def __init__(self, path: Path) -> None:
        def there(values: np.ndarray) -> Tensor:
            return torch.tensor(values, device=DEVICE)

        with np.load(path) as z:
            q = z["rotations"].astype(np.float32)
            self.start = z["clip_start"].astype(int)
            clip = np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))
            self.subject = np.array([name.split("_")[0] for name in z["clip"]])
            self.offsets, self.tall = there(z["offsets"].astype(np.float32)), there(z["height"].astype(np.float32))
            self.root = there(z["root"].astype(np.float32))
        self.clip, self.first = there(clip), there(self.start[clip])
        self.count = there(np.diff(self.start))
        self.local = body.matrix(there(q / np.linalg.norm(q, axis=-1, keepdims=True)))

    def held_out(self) -> list[str]:
        """Subjects to judge by: eight groups with half a minute or more, drawn with seed 0."""
        groups = sorted(
            {
                next((tuple(g.split()) for g in SAME_PERSON + SAME_SCENE if s in g.split()), (s,))
                for s in self.subject.tolist()
            }
        )
        size = {s: int(np.diff(self.start)[self.subject == s].sum()) for s in self.subject.tolist()}
        order = [groups[k] for k in np.random.default_rng(0).permutation(len(groups))]
        return [s for g in [g for g in order if sum(size[s] for s in g) >= 300][:8] for s in g]

    def shares(self, unseen: np.ndarray) -> Tensor:
        """Cumulated shares of the rows: the root of a clip's length, a person's numbers as one; none of `unseen`."""
        counts = np.diff(self.start)
        weight = counts**-0.5 * ~unseen
        for group in SAME_PERSON:
            weight[np.isin(self.subject, group.split())] /= len(group.split())
        share = np.repeat(weight, counts)
        return torch.cumsum(torch.tensor(share / share.sum(), device=DEVICE), 0)


class Bodies:
    """The poses with other proportions, habits and arms by clip, or the real ones, in memory that stays where it is."""

    def __init__(self, poses: Poses, unusual: float = 1.0) -> None:
        self.poses, self.unusual = poses, unusual
        self.offsets, self.tall = poses.offsets.clone(), poses.tall.clone()
        self.places, self.world = body.forward(poses.local, self.offsets[poses.clip], poses.root)
        self.joints = torch.tensor(body.JOINTS, device=DEVICE)
        self.points = self.places[:, self.joints].contiguous()
        self.turns = self.world[:, self.joints][..., :2].transpose(-1, -2).contiguous()  # X and Y as rows

    @torch.no_grad()
    def vary(self, *, real: bool) -> None:
        """Draw other bodies, or take the real ones."""
        poses = self.poses
        offsets, local, root = poses.offsets, poses.local, poses.root
        if not real:
            count = len(poses.tall)
            offsets, moved = self._other_offsets()
            habit = torch.zeros(count, 22, 3, device=DEVICE)
            habit[:, list(HABITS)] = HABIT * normal(count, len(HABITS), 3)
            habit[:, 2:8] *= 0.7
            local = body.product(self._mixed(), body.exp(habit)[poses.clip])
            root = root * (high_hips(offsets + moved) / high_hips(poses.offsets))[poses.clip, None]
            root = root + body.turned(local[:, 0], moved[poses.clip, 16])
        self.offsets.copy_(offsets)
        self.tall.copy_(body.height(offsets))
        places, world = body.forward(local, offsets[poses.clip], root)
        self.places.copy_(places)
        self.world.copy_(world)
        self.points.copy_(places[:, self.joints])
        self.turns.copy_(world[:, self.joints][..., :2].transpose(-1, -2))

    def _other_offsets(self) -> tuple[Tensor, Tensor]:
        """(offsets of other bodies (C, 22, 3), how far their hips' joint has moved away from legs and spine).

        Every clip draws how unusual its body is. Bones have other lengths; hips, as rigs place them, are elsewhere
        between legs and spine; legs are elsewhere below the spine; the spine is curved otherwise; shoulders are lower;
        and joints of the spine are higher up.
        """
        poses = self.poses
        count, unusual = len(poses.tall), self.unusual * uniform(len(poses.tall), 1)
        scale, bones = torch.ones(count, 22, 3, device=DEVICE), BONES + UNUSUAL * unusual
        for group in GROUPS:
            size = torch.exp(bones * normal(count, 1))
            for j in group:
                scale[:, j] = size
        scale[:, [9, 13], 0] *= torch.exp(bones * normal(count, 1))
        size = unusual * poses.tall[:, None]
        shift = torch.zeros(count, 22, 3, device=DEVICE)
        shift[:, 3:8, 2] = CURVED * size * normal(count, 5)
        shift[:, [8, 12], 2] = shift[:, 5:6, 2]
        shift[:, [9, 13], 1] = size * (SHOULDERS_UP * normal(count, 1) - SHOULDERS_DOWN)
        shift[:, [16, 19], 1] = LEGS_UP * size * normal(count, 1)
        shift[:, [16, 19], 2] = LEGS_AHEAD * size * normal(count, 1)
        shift[:, [9, 13], 2] = SHOULDERS_AHEAD * size * normal(count, 1)
        offsets = poses.offsets * scale + shift
        up = uniform(count, 3, 1) * (uniform(count, 3, 1) < unusual[:, None])  # of the segments above
        neck, chest, rigid = up[:, 0] * offsets[:, 6], up[:, 1] * offsets[:, 5], up[:, 2] * offsets[:, 3]
        offsets[:, 5] += neck - chest
        offsets[:, 6] -= neck
        offsets[:, 4] += chest
        offsets[:, [8, 12]] -= chest[:, None]
        hips = torch.cat([0.0 * size, HIPS_UP * size * normal(count, 1), HIPS_AHEAD * size * normal(count, 1)], 1)
        offsets[:, 3] -= rigid
        offsets[:, 2] += rigid - hips
        offsets[:, [16, 19]] -= hips[:, None]
        moved = torch.zeros_like(offsets)
        moved[:, [16, 19]] = hips[:, None]
        return offsets, moved

    def _mixed(self) -> Tensor:
        """Local rotations, an arm of some clips from another one, which is repeated where it is shorter."""
        poses, local = self.poses, self.poses.local.clone()
        row = torch.arange(len(poses.clip), device=DEVICE)
        starts = torch.tensor(poses.start[:-1], device=DEVICE)
        for first in (9, 13):
            other = torch.randint(len(poses.count), (len(poses.count),), device=DEVICE)[poses.clip]
            source = starts[other] + (row - poses.first) % poses.count[other]
            taken = (uniform(len(poses.count)) < MIXED)[poses.clip]
            arm = poses.local[source, first : first + 3]
            local[:, first : first + 3] = torch.where(taken[:, None, None, None], arm, local[:, first : first + 3])
        return local

    def at(self, i: Tensor, back: int, part: float) -> tuple[Tensor, Tensor]:
        """(points, X and Y of the parts) of the rows so many before i, and a part of a row earlier."""
        first = self.poses.first[i]
        near = torch.maximum(i - back, first)
        if part == 0.0:
            return self.points[near], self.turns[near]
        far = torch.maximum(i - back - 1, first)
        axes = torch.lerp(self.turns[near], self.turns[far], part)
        x = body.unit(axes[..., 0, :])
        return (
            torch.lerp(self.points[near], self.points[far], part),
            torch.stack([x, body.unit(body.reject(axes[..., 1, :], x))], -2),
        )

    def window(self, i: Tensor, part: float) -> tuple[Tensor, Tensor]:
        """(points now and before, X and Y of the parts now and before), as `body.Sample` has them."""
        found = [self.at(i, back, part) for back in (0, *STEPS_BACK)]
        axes = torch.stack([found[0][1], found[1 + ORIENTATION_LAG][1]], 1)
        return torch.stack([points for points, _ in found], 1), axes


def high_hips(offsets: Tensor) -> Tensor:
    """(C,) [m] how high hips are above the floor when a body stands."""
    length = offsets.norm(dim=-1)
    legs = 0.5 * (length[:, 17] + length[:, 18] + length[:, 20] + length[:, 21])
    return legs - 0.5 * (offsets[:, 16, 1] + offsets[:, 19, 1]) + ANKLE * body.height(offsets)


def drawn(bodies: Bodies, i: Tensor, twins: int = 0) -> tuple[body.Sample, Tensor]:
    """(samples of these rows, the first `twins` of them earlier at the end; places of the joints that much earlier)."""
    count = len(i)
    both = torch.cat([i, i[:twins]])
    clip = bodies.poses.clip[i]
    tall = bodies.tall[clip]
    seen, axes = bodies.window(i, 0.0)
    known, oriented = masks(count)
    pace = torch.where(uniform(count, 1, 1, 1) < ALONE, 0.0, torch.exp(PACE * normal(count, 1, 1, 1)))
    size = uniform(count) * (uniform(count) < SHIFTED)
    shift = normal(count, POINTS, 3) * (SHIFT / 3**0.5 * size)[:, None, None]
    size = size + (uniform(count) < NOISY) * SHAKEN / ROTATED
    spin = body.exp(normal(count, POINTS, 3) * (ROTATED / 3**0.5 * size)[:, None, None])
    noise = (SHIVER + NOISE * uniform(count) * (uniform(count) < NOISY)) * tall
    up = body.unit(torch.stack([TILT * normal(count), 1.0 + 0.0 * tall, TILT * normal(count)], -1))
    left = body.unit(bodies.world[i, 0, :, 0] + HEADING * normal(count, 3))
    flat = torch.stack([torch.ones_like(tall), torch.zeros_like(tall), torch.zeros_like(tall)], -1)
    heading = torch.where((uniform(count) < NO_HEADING)[:, None], flat, left)
    least = torch.where(known[:, 4] * known[:, 5] > 0.0, BOTH_FEET, NO_FLOOR)
    floor, level = (uniform(count) >= least).float(), FLOOR * normal(count)
    places, world = bodies.places[i], bodies.world[i]
    tumble = body.exp(normal(count, 3) * (2.0 * (uniform(count) < TUMBLED))[:, None])
    if twins:
        earlier = bodies.window(i[:twins], EARLIER)
        seen, axes = torch.cat([seen, earlier[0]]), torch.cat([axes, earlier[1]])
        old = torch.maximum(i[:twins] - 1, bodies.poses.first[i[:twins]])
        was = torch.lerp(places[:twins], bodies.places[old], EARLIER)

    def doubled(values: Tensor) -> Tensor:
        return torch.cat([values, values[:twins]]) if twins else values

    pace, shift, spin, tumble = doubled(pace), doubled(shift), doubled(spin), doubled(tumble)
    known, oriented, noise, tall = doubled(known), doubled(oriented), doubled(noise), doubled(tall)
    seen = seen[:, :1] + (seen - seen[:, :1]) * pace
    axes = axes[:, :1] + (axes - axes[:, :1]) * pace[..., None]
    if twins:  # the earlier one was not as far away
        moved = 1.0 - pace[:twins, :, 0]
        was = torch.lerp(was, places[:twins], moved)
        now, axis = seen[:twins, :1] - seen[count:, :1], axes[:twins, :1] - axes[count:, :1]
        seen = torch.cat([seen[:count], seen[count:] + now * moved[:, None]])
        axes = torch.cat([axes[:count], axes[count:] + axis * moved[..., None, None]])
    pivot = doubled(places[:, 0])
    seen, axes = _spun(seen, axes, pivot, tumble)
    places, world = (
        body.turned(tumble[:count, None], places - pivot[:count, None]) + pivot[:count, None],
        body.product(tumble[:count, None], world),
    )
    seen = seen + shift[:, None] + normal(*seen.shape) * noise[:, None, None, None]
    axes = body.turned(spin[:, None, :, None], axes)
    axes = _shaken(axes, TREMBLE)
    sway = UNSURE * normal(len(both)) * (1.0 - oriented[:, 0])
    sample = body.Sample(
        seen, axes, known, oriented, body.turned(tumble, doubled(heading)), doubled(up), sway, doubled(floor),
        doubled(level), doubled(bodies.offsets[clip]), tall, places, world,
    )  # fmt: skip
    if not twins:
        return sample, places[:0]
    return sample, body.turned(tumble[:twins, None], was - pivot[:twins, None]) + pivot[:twins, None]


def _spun(seen: Tensor, axes: Tensor, pivot: Tensor, by: Tensor) -> tuple[Tensor, Tensor]:
    """Points and axes rotated about pivots."""
    about = pivot[:, None, None]
    return body.turned(by[:, None, None], seen - about) + about, body.turned(by[:, None, None, None], axes)


def _shaken(axes: Tensor, angle: float) -> Tensor:
    return body.turned(body.exp(angle * normal(*axes.shape[:3], 3))[..., None, :, :], axes)


def exactly(
    bodies: Bodies, i: Tensor, points: tuple[int, ...], turns: tuple[int, ...], part: float = 0.0
) -> body.Sample:
    """Samples of these rows, or of moments a part of a row earlier, with exactly these trackers, as they are."""
    count, clip = len(i), bodies.poses.clip[i]
    known, oriented = torch.zeros(count, POINTS, device=DEVICE), torch.zeros(count, POINTS, device=DEVICE)
    known[:, list(points)] = 1.0
    oriented[:, list(turns)] = 1.0
    seen, axes = bodies.window(i, part)
    up = torch.tensor([[0.0, 1.0, 0.0]], device=DEVICE).expand(count, 3)
    none = torch.zeros(count, device=DEVICE)
    floor = 1.0 - known[:, 4] * known[:, 5]
    before = torch.maximum(i - 1, bodies.poses.first[i])
    return body.Sample(
        seen, axes, known, oriented, bodies.world[i, 0, :, 0], up, none, floor, none, bodies.offsets[clip],
        bodies.tall[clip], torch.lerp(bodies.places[i], bodies.places[before], part), bodies.world[i],
    )  # fmt: skip


def masks(count: int) -> tuple[Tensor, Tensor]:
    """(which points, which orientations) are known, (count, 13) each."""
    kind = uniform(count, 1)
    known = (uniform(count, POINTS) < 0.5).float()
    number = torch.arange(POINTS, device=DEVICE)
    upto = 0.0
    for share, points in SETS:
        these = (number >= points[0]) & (number <= points[-1])  # all of them are ranges
        known = torch.where((kind >= upto) & (kind < upto + share), these.float(), known)
        upto += share
    six = number < 6
    draw, which = uniform(count, 1), uniform(count, POINTS)
    more = torch.where(draw < MORE * ALL, number < 11, which < EACH) & (draw < MORE)
    known = torch.where(six, known, more.float())
    lost = (uniform(count, POINTS) < EACH_LOST) & (uniform(count, 1) < LOST)
    known = known * ~lost
    none = (known[:, :2].sum(1, keepdim=True) == 0.0) & (number < 2)
    chosen = torch.where(uniform(count, 1) < 0.25, number == 0, number == 1)
    known = torch.where(none, chosen.float(), known)
    way, some = uniform(count, 1), (uniform(count, POINTS) < 0.5).float()
    oriented = torch.where(way < ORIENTED, 1.0, torch.where(way < ORIENTED + BARE, 0.0, some))
    return known, oriented * known
