"""Makes the part of src/posable/assets/prior.npz for exactly six positions, from captured motion; keeps the rest.

    python tools/fit_six.py [--data ../shared/data] [--seed 0] [--validate] [--target FILE]

Needs torch, and a GPU to be done in minutes (a few thousand steps a minute; a CPU takes hours). All of cmu_poses is
learned; `--validate` holds out eight groups of subjects instead (numbers of one person together), drawn with seed 0,
says how well they are reconstructed frame after frame at 30 Hz, and writes no file. Settings were chosen by that, not
by the clips of `cmu` that docs/reconstruct.md judges by. A seed gives the same file on the same machine up to the
rounding of a GPU's sums.

What is minimised is the error of the whole body (mean distance of its 22 joints and mean angle of its rotations, as
specification reconstruct has them), through the analytic parts (`six_body`). Against learning the subjects by heart:
other proportions, other habits (every clip's joints turned by constants), tilted and faster motions, noisy points,
dropout. The frame is turned about Y at random, so that a wrong heading is corrected, and a tenth of the samples have no
past.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import os
import time
from pathlib import Path

import numpy as np
import six_body as body
import torch
from torch import Tensor

from posable.reconstruct.prior import Prior
from posable.reconstruct.six_positions import SixPositions

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "src/posable/assets/prior.npz"
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SAME_PERSON = ["63 64", "70 73 123", "74 84", "78 102", "91 105", "93 103", "106 141"]  # ../shared/data/cmu/README.md
SAME_SCENE = ["18 19", "20 21", "22 23"]
HIDDEN, STEPS, BATCH, RATE, DECAY, DROPOUT = [256, 128], 6500, 8192, 2e-3, 0.02, 0.15
BONES, HABIT, SPEED, TILT, NOISE = 0.1, 0.06, 0.2, 0.1, 0.01  # log of lengths, [rad], log, [rad], of the height
TURNS = ((0.6, 0.25), (0.3, 0.8))  # shares of samples and [rad]; the rest any way
ALONE, REAL = 0.1, 4  # share of samples without a past; every fourth draw of bodies is the real ones
POSITION, ORIENTATION, WORST, ANGLES = 0.015, 0.23, 0.15, 0.3  # usual errors; weights of squares and of rotations
GROUPS = ((3, 4), (5, 8, 12), (6, 7), (10, 14), (11, 15), (17, 20), (18, 21), (9, 13), (16, 19))  # bones of one scale
HABITS = (0, 2, 3, 4, 5, 6, 7, 9, 13, 16, 19)  # joints


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = os.environ.get("POSABLE_DATA", ROOT.parent / "shared" / "data")
    parser.add_argument("--data", type=Path, default=Path(default))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--validate", action="store_true", help="hold subjects out and judge by them")
    parser.add_argument("--target", type=Path, default=TARGET)
    parser.add_argument("--steps", type=int, default=STEPS)
    options = parser.parse_args()
    path = options.data / "cmu_poses" / "poses.npz"
    torch.manual_seed(options.seed)
    poses = Poses(path)
    out = held_out(poses) if options.validate else []
    net = fitted(poses, np.isin(poses.subject, out), options.steps)
    if options.validate:
        judge(net, poses, out)
        return
    rest = Prior.load(options.target)
    said = f"tools/fit_six.py, seed {options.seed}, {options.steps} steps"
    origin = {**rest.origin, "six": f"{said}, sha256 of poses {hashlib.sha256(path.read_bytes()).hexdigest()}"}
    six = packed(net)
    made = Prior(rest._sizes, rest._weights, rest._centre, rest._deviation, origin, six)
    made.save(options.target)
    print(f"{made}, {options.target.stat().st_size} bytes in {options.target}")


class Poses:
    """Everything of cmu_poses on the device. A row a pose; `window` (N, 6, 6, 3) has its points at each lag."""

    def __init__(self, path: Path) -> None:
        def there(values: np.ndarray) -> Tensor:
            return torch.tensor(values, device=DEVICE)

        with np.load(path) as z:
            q = z["rotations"].astype(np.float32)
            self.start, self.marker_start = z["clip_start"].astype(int), z["marker_start"].astype(int)
            clips = len(self.start) - 1
            clip = np.repeat(np.arange(clips), np.diff(self.start))
            whose = np.repeat(np.arange(clips), np.diff(self.marker_start))
            origins = z["marker_origin"].astype(np.float32)[whose][:, None]
            self.markers = there(z["markers"].astype(np.float32) * 2.5e-4 + origins)
            self.subject = np.array([name.split("_")[0] for name in z["clip"]])
            self.offsets, self.tall = there(z["offsets"].astype(np.float32)), there(z["height"].astype(np.float32))
            now, root = there(z["marker_index"].astype(int)), there(z["root"].astype(np.float32))
        self.clip, self.first = there(clip), there(self.start[clip])
        self.local, self.root = body.matrix(there(q / np.linalg.norm(q, axis=-1, keepdims=True))), root
        self.lags = there(np.array(body.LAGS))
        first = there(self.marker_start[clip])
        self.window = self.markers[torch.maximum(now[:, None] - self.lags, first[:, None])]
        self.places, self.world = body.forward(self.local, self.offsets[self.clip], root)
        self.local = body.local_rotations(self.world)

    def real(self) -> tuple[Tensor, ...]:
        """(offsets and height of clips, places, windows, X of the pelvis, local rotations of poses)."""
        return self.offsets, self.tall, self.places, self.window, self.world[:, 0, :, 0], self.local

    def varied(self) -> tuple[Tensor, ...]:
        """The same for other proportions and habits, by clip; points of the past move as the poses say."""
        count = len(self.tall)
        scale = torch.ones(count, 22, 3, device=DEVICE)
        for group in GROUPS:
            size = torch.exp(BONES * torch.randn(count, 1, device=DEVICE))
            for j in group:
                scale[:, j] = size
        scale[:, [9, 13], 0] *= torch.exp(BONES * torch.randn(count, 1, device=DEVICE))
        offsets = self.offsets * scale
        habit = torch.zeros(count, 22, 3, device=DEVICE)
        habit[:, list(HABITS)] = HABIT * torch.randn(count, len(HABITS), 3, device=DEVICE)
        habit[:, 2:8] *= 0.7
        local = body.product(self.local, body.exp(habit)[self.clip])
        places, world = body.forward(local, offsets[self.clip], self.root)
        moved, row = (places - self.places)[:, body.MARKERS], torch.arange(len(places), device=DEVICE)
        window = self.window.clone()
        for k, lag in enumerate(body.LAGS):  # poses are three thirtieths apart
            whole, part = lag // 3, (lag % 3) / 3.0
            before, further = torch.maximum(row - whole, self.first), torch.maximum(row - whole - 1, self.first)
            window[:, k] += (1 - part) * moved[before] + part * moved[further]
        return offsets, body.height(offsets), places, window, world[:, 0, :, 0], body.local_rotations(world)


def held_out(poses: Poses) -> list[str]:
    """Subjects to judge by: eight groups with half a minute or more, drawn with seed 0."""
    groups = sorted(
        {
            next((tuple(g.split()) for g in SAME_PERSON + SAME_SCENE if s in g.split()), (s,))
            for s in poses.subject.tolist()
        }
    )
    size = {s: int(np.diff(poses.start)[poses.subject == s].sum()) for s in poses.subject.tolist()}
    order = [groups[k] for k in np.random.default_rng(0).permutation(len(groups))]
    return [s for g in [g for g in order if sum(size[s] for s in g) >= 300][:8] for s in g]


def fitted(poses: Poses, out: np.ndarray, steps: int) -> body.Net:
    """The network after so many steps, its weights evened out over the last thousand; clips of `out` (C,) unseen."""
    weight = np.diff(poses.start) ** -0.5 * ~out  # a long clip counts as the root of its length
    for group in SAME_PERSON:
        weight[np.isin(poses.subject, group.split())] /= len(group.split())
    share = np.repeat(weight, np.diff(poses.start))
    total = torch.cumsum(torch.tensor(share / share.sum(), device=DEVICE), 0)
    net = body.Net(HIDDEN, DROPOUT).to(DEVICE)
    bodies = poses.real()
    with torch.no_grad():
        seen, frame, up, offsets, tall, *_ = drawn(poses, bodies, total, 65536)
        net.standardise(body.features(seen, frame, offsets, tall, up))
    even = {name: value.clone() for name, value in net.state_dict().items()}
    optimiser = torch.optim.AdamW(net.parameters(), lr=RATE, weight_decay=DECAY)
    cost = torch.compile(error) if DEVICE == "cuda" else error
    start = time.time()
    for step in range(steps):
        with torch.no_grad():
            if step % 100 == 0:
                bodies = poses.real() if step // 100 % REAL == REAL - 1 else poses.varied()
            batch = drawn(poses, bodies, total, BATCH)
        for group in optimiser.param_groups:
            group["lr"] = RATE * min(1.0, (step + 1) / 500) * (0.505 + 0.495 * math.cos(math.pi * step / steps))
        loss, places, angles = cost(net, *batch)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimiser.step()
        with torch.no_grad():
            new = 1.0 - min(0.999, (step + 1) / (step + 100))
            torch._foreach_lerp_(list(even.values()), list(net.state_dict().values()), new)
        if (step + 1) % 500 == 0:
            print(f"{step + 1}: {places.item():.5f}, {angles.item():.4f} rad, {time.time() - start:.0f} s", flush=True)
    net.load_state_dict(even)
    return net.eval()


def drawn(poses: Poses, bodies: tuple[Tensor, ...], total: Tensor, count: int) -> tuple[Tensor, ...]:
    """Samples: what is seen of the window, frame, up, offsets, height, true points, places, local rotations."""

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, device=DEVICE)

    offsets, tall, places, window, left, local = bodies
    i = torch.searchsorted(total, torch.rand(count, device=DEVICE, dtype=torch.float64)).clamp_max(len(total) - 1)
    clip, seen = poses.clip[i], window[i]
    alone = torch.rand(count, 1, 1, 1, device=DEVICE) < ALONE
    pace = torch.where(alone, 0.0, torch.exp(SPEED * normal(count, 1, 1, 1)))
    seen = seen[:, :1] + (seen - seen[:, :1]) * pace
    points = seen[:, 0]
    y = body.unit(points[:, 1] - points[:, 0])
    kind, way = torch.rand(count, device=DEVICE), (2.0 * torch.rand(count, device=DEVICE) - 1.0) * math.pi
    (few, small), (more, large) = TURNS
    way = torch.where(kind < few, small * normal(count), torch.where(kind < few + more, large * normal(count), way))
    x = body.unit(body.reject(left[i], y))
    x = torch.cos(way)[:, None] * x + torch.sin(way)[:, None] * body.cross(y, x)
    noise = normal(*seen.shape) * (NOISE * torch.rand(count, 1, 1, 1, device=DEVICE)) * tall[clip][:, None, None, None]
    up = body.unit(torch.tensor([0.0, 1.0, 0.0], device=DEVICE) + TILT * normal(count, 3))
    return seen + noise, body.frame_of(y, x), up, offsets[clip], tall[clip], points, places[i], local[i]


def error(
    net: body.Net,
    seen: Tensor,
    frame: Tensor,
    up: Tensor,
    offsets: Tensor,
    tall: Tensor,
    points: Tensor,
    *truth: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """(what is minimised, mean distance of the height, mean angle [rad])."""
    said = net(body.features(seen, frame, offsets, tall, up))
    places, world = body.reconstruct(said, points, frame, offsets, tall)
    apart = (places - truth[0]).norm(dim=-1).mean(-1) / tall
    turned = body.angle(body.local_rotations(world), truth[1]).mean(-1)
    e = apart / POSITION
    cost = e.mean() + WORST * (e * e).clamp_max(36).mean() + ANGLES * (turned / ORIENTATION).mean()
    return cost, apart.mean(), turned.mean()


@torch.no_grad()
def judge(net: body.Net, poses: Poses, out: list[str]) -> None:
    """Reconstruct the clips of held-out subjects frame after frame (30 Hz, at most 30 s) and say how well."""
    clips = np.flatnonzero(np.isin(poses.subject, out))
    first, count = poses.marker_start[clips], np.minimum(np.diff(poses.marker_start)[clips], 900)
    first, last = torch.tensor(first, device=DEVICE), torch.tensor(count - 1, device=DEVICE)
    offsets, tall = poses.offsets[clips], poses.tall[clips]
    sums = torch.zeros(3, len(clips), device=DEVICE)
    up, x = torch.tensor([[0.0, 1.0, 0.0]], device=DEVICE).expand(len(clips), 3), None
    for f in range(int(count.max())):
        at = torch.clamp(torch.minimum(torch.full_like(last, f), last)[:, None] - poses.lags, min=0)
        seen = poses.markers[first[:, None] + at]
        points = seen[:, 0]
        y = body.unit(points[:, 1] - points[:, 0])
        for _ in range(4 if x is None else 1):
            if x is None:
                x = sum(body.unit(body.reject(points[:, a] - points[:, b], y)) for a, b in ((2, 3), (4, 5)))
            frame = body.frame_of(y, x)
            said = net(body.features(seen, frame, offsets, tall, up))
            places, world = body.reconstruct(said, points, frame, offsets, tall)
            x = world[:, 0, :, 0]
        if f % 3 == 0:
            pose = torch.tensor(poses.start[clips], device=DEVICE) + torch.minimum(torch.full_like(last, f), last) // 3
            pose = torch.minimum(pose, torch.tensor(poses.start[clips + 1] - 1, device=DEVICE))
            apart = (places - poses.places[pose]).norm(dim=-1).mean(-1) / tall
            turned = body.angle(body.local_rotations(world), poses.local[pose]).mean(-1)
            live = f <= last
            sums += torch.stack([apart**2 * live, turned**2 * live, live.float()])
    errors = (sums[:2] / sums[2]).sqrt().cpu().numpy()
    for s in sorted(set(out)):
        own = poses.subject[clips] == s
        print(f"subject {s}, {own.sum()} clips: {errors[0, own].mean():.4f}, {errors[1, own].mean():.3f} rad")
    mean = np.mean([errors[:, poses.subject[clips] == s].mean(axis=1) for s in set(out)], axis=0)
    print(f"mean of subjects: {mean[0]:.5f}, {mean[1]:.4f} rad; of clips {errors[0].mean():.5f}")


def packed(net: body.Net) -> SixPositions:
    """The network as the package reads it: scales of what it says are in its last weights."""
    state = {name: value.double().cpu().numpy() for name, value in net.state_dict().items()}
    sizes = [len(state["in_s"]), len(state["in_a"]), *HIDDEN, len(state["out_s"]), len(state["out_a"])]
    scale = {k: (state[f"out_{k}"] != 0.0) @ state["scales"] / (state[f"out_{k}"] != 0.0).sum(1) for k in "sa"}
    last, parts = len(HIDDEN), []
    for k in range(last):
        parts += [state[f"s.{k}.bias"], state[f"s.{k}.weight"].T.ravel(), state[f"a.{k}.weight"].T.ravel()]
    parts.append(state[f"s.{last}.bias"] * scale["s"] + state["out_s"] @ state["middles"])
    for name in (f"s.{last}", f"a.{last}", "skip_s", "skip_a"):
        side = "s" if name[0] == "s" and name != "skip_a" else "a"
        parts.append((state[f"{name}.weight"].T * scale[side]).ravel())
    mean = np.concatenate([state["mean"], np.zeros(sizes[1])])
    deviation = np.concatenate([state["deviation_s"], state["deviation_a"]])
    return SixPositions(sizes, np.concatenate(parts), mean, deviation)


if __name__ == "__main__":
    main()
