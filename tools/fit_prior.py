"""Makes src/posable/assets/prior.npz: the learned prior of `SequentialIK`, from captured motion.

    python tools/fit_prior.py --state FILE [--data ../shared/data] [--seed 0] [--steps N] [--validate] [--resume]
    python tools/fit_prior.py --state FILE --pack [--target FILE]

Needs torch, and a C++ compiler; a GPU is used where there is one. A state is written every few hundred steps;
`--resume` goes on from it, to the same steps; `--start FILE` begins with the weights of another. `--pack` writes the
asset from a state and keeps the part for exactly six positions (tools/fit_six.py). With `--validate` eight groups of
subjects (numbers of one person together, drawn with seed 0) are not learned, and errors on them by set of trackers are
said every thousand steps; settings were chosen by those.

The shipped weights come from 7600 steps on one core, too few: 2600 without dropout and 2800 with it, both without the
eight groups (seed 0), then 2200 with all subjects at a rate of 1.5e-3 (seeds 1 to 4, as it was interrupted), each from
the evened weights of the one before; what ships is the mean of the weights of the second and the third, which was
preferred with the measured clips in view (13_01 from head and hands). More steps, on a GPU, are expected to bring the
most.

A sample is a pose of cmu_poses with other proportions and habits (every clip's joints rotated), a set of trackers and
of orientations, their past, and what real trackers do: they do not sit in the joints, are noisy and get lost. What is
minimised is the error of the whole body (mean distance of its 22 joints and of its rotations), through the analytic
parts (`prior_body`), divided by the error that the network itself expects, plus the logarithm of that: so sets with
large errors do not drown those with small ones, and the network learns what it does not know.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import os
import time
from pathlib import Path

import numpy as np
import prior_body as body
import torch
from torch import Tensor

from posable.reconstruct.prior import Prior
from posable.reconstruct.prior_layout import ORIENTATION_LAG

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "src/posable/assets/prior.npz"
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SAME_PERSON = ["63 64", "70 73 123", "74 84", "78 102", "91 105", "93 103", "106 141"]  # ../shared/data/cmu/README.md
SAME_SCENE = ["18 19", "20 21", "22 23"]

HIDDEN, STEPS, BATCH, RATE, DECAY, WARM, DROPOUT = [256, 128], 12000, 1024, 2e-3, 0.02, 300, 0.1
SETS = ((0.28, (1, 2, 3)), (0.15, (0, 1, 2, 3)), (0.35, (0, 1, 2, 3, 4, 5)))  # shares and points; the rest any
MORE, EACH = 0.25, 0.4  # share of samples that have elbows, knees, chest and shoulders, too; each of them
ORIENTED, BARE = 0.5, 0.35  # share with all orientations; with none; the rest some
LOST, EACH_LOST = 0.12, 0.3  # share of samples that lose points; each of them
SHIFTED, SHIFT, ROTATED = 0.25, 0.05, math.radians(15.0)  # share of samples; up to [m], [rad]
NOISY, NOISE, SHAKEN = 0.15, 0.01, 0.05  # share of samples; up to so much of the height; [rad]
ALONE, PACE, TILT = 0.15, 0.2, 0.05  # share without a past; log; [rad]
HEADING, NO_HEADING, UNSURE = 0.3, 0.3, 0.1  # [rad] of the heading before; share without; [rad] of the frame
NO_FLOOR, FEET, FLOOR = 0.15, 0.8, 0.02  # share without a floor; where both feet are known; its error [m]
TURN = 0.03  # heights that a radian counts as
VARY = 400  # steps between other bodies
BONES, HABIT = 0.1, 0.06  # log of lengths, [rad]
GROUPS = ((3, 4), (5, 8, 12), (6, 7), (10, 14), (11, 15), (17, 20), (18, 21), (9, 13), (16, 19))  # bones of one scale
HABITS = (0, 2, 3, 4, 5, 6, 7, 9, 13, 16, 19)  # joints


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = os.environ.get("POSABLE_DATA", ROOT.parent / "shared" / "data")
    parser.add_argument("--data", type=Path, default=Path(default))
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--rate", type=float, default=RATE)
    parser.add_argument("--validate", action="store_true", help="hold subjects out and judge by them")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--start", type=Path, help="a state whose weights to start from")
    parser.add_argument("--pack", action="store_true", help="write the asset from a state")
    parser.add_argument("--target", type=Path, default=TARGET)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    path = options.data / "cmu_poses" / "poses.npz"
    if options.pack:
        pack(options.state, options.target, path)
        return
    poses = Poses(path)
    out = held_out(poses) if options.validate else []
    Fit(poses, out, options).run()


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
        self.local = body.matrix(there(q / np.linalg.norm(q, axis=-1, keepdims=True)))


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


class Fit:
    def __init__(self, poses: Poses, out: list[str], options: argparse.Namespace) -> None:
        self.poses, self.options, self.steps = poses, options, options.steps
        counts = np.diff(poses.start)
        unseen = np.isin(poses.subject, out)
        weight = counts**-0.5 * ~unseen
        for group in SAME_PERSON:
            weight[np.isin(poses.subject, group.split())] /= len(group.split())
        share = np.repeat(weight, counts)
        self.total = torch.cumsum(torch.tensor(share / share.sum(), device=DEVICE), 0)
        self.judged = torch.tensor(np.flatnonzero(np.repeat(unseen, counts))[::7], device=DEVICE)
        self.net = body.Net(HIDDEN, DROPOUT).to(DEVICE)
        self.bodies = Bodies(poses, real=True)
        self.even = {name: value.clone() for name, value in self.net.state_dict().items()}
        self.optimiser = torch.optim.AdamW(self.net.parameters(), lr=options.rate, weight_decay=DECAY)
        self.step = 0
        if options.resume and options.state.exists():
            self.load(options.state)
        elif options.start:
            found = torch.load(options.start, map_location=DEVICE, weights_only=True)
            self.net.load_state_dict(found["even"])
            self.even = {name: value.clone() for name, value in self.net.state_dict().items()}
        else:
            with torch.no_grad():
                features = [self.sample(1024).features() for _ in range(16)]
                self.net.standardise(torch.cat(features))
            self.even = {name: value.clone() for name, value in self.net.state_dict().items()}

    def load(self, path: Path) -> None:
        found = torch.load(path, map_location=DEVICE, weights_only=True)
        self.net.load_state_dict(found["net"])
        self.even, self.step = found["even"], found["step"]
        self.optimiser.load_state_dict(found["optimiser"])

    def save(self) -> None:
        path = self.options.state
        found = {"net": self.net.state_dict(), "even": self.even, "step": self.step, "seed": self.options.seed}
        found["optimiser"] = self.optimiser.state_dict()
        torch.save(found, path.with_suffix(".new"))
        path.with_suffix(".new").replace(path)

    def sample(self, count: int, rows: Tensor | None = None) -> body.Sample:
        if rows is None:
            draw = torch.rand(count, device=DEVICE, dtype=torch.float64)
            rows = torch.searchsorted(self.total, draw).clamp_max(len(self.total) - 1)
        return drawn(self.bodies, rows)

    def run(self) -> None:
        start, sums = time.time(), torch.zeros(3)
        while self.step < self.steps:
            if self.step % VARY == 0:
                self.bodies = Bodies(self.poses, real=self.step // VARY % 3 == 2)
            rate = self.options.rate * min(1.0, (self.step + 1) / WARM)
            for group in self.optimiser.param_groups:
                group["lr"] = rate * (0.505 + 0.495 * math.cos(math.pi * self.step / self.steps))
            with torch.no_grad():
                sample = self.sample(BATCH)
            cost, apart, turned = error(self.net, sample)
            self.optimiser.zero_grad()
            cost.backward()
            torch.nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
            self.optimiser.step()
            with torch.no_grad():
                new = 1.0 - min(0.998, (self.step + 1) / (self.step + 50))
                own = dict(self.net.named_parameters())
                torch._foreach_lerp_([self.even[name] for name in own], list(own.values()), new)
            sums += torch.stack([cost.detach(), apart.mean().detach(), turned.mean().detach()]).cpu()
            self.step += 1
            if self.step % 200 == 0:
                told = sums / 200
                sums = torch.zeros(3)
                print(
                    f"{self.step}: {told[0]:.3f}, {told[1]:.5f}, {told[2]:.4f}, {time.time() - start:.0f} s", flush=True
                )
                self.save()
            if self.step % 1000 == 0 and len(self.judged):
                self.judge()
        self.save()

    @torch.no_grad()
    def judge(self) -> None:
        """Say errors on unseen subjects, by set of body."""
        bodies, self.bodies = self.bodies, Bodies(self.poses, real=True)
        net = body.Net(HIDDEN, DROPOUT).to(DEVICE)
        net.load_state_dict(self.even)
        net.eval()
        rows = self.judged
        for name, points, turns in JUDGED:
            sample = drawn(self.bodies, rows, points, turns)
            said = net(sample.features())
            places, _ = body.reconstruct(said, sample)
            apart = (places - sample.places).norm(dim=-1).mean(-1)
            expects = said[:, 63].exp() * sample.tall
            both = torch.corrcoef(torch.stack([apart.log(), expects.log()]))[0, 1]
            print(f"  {name}: {100 * apart.mean():.2f} cm, expects {100 * expects.mean():.2f}, {both:.2f}", flush=True)
        self.bodies = bodies


JUDGED = (
    ("head, hands", (1, 2, 3), (1, 2, 3)),
    ("head, hands, positions", (1, 2, 3), ()),
    ("head, hands, hips", (0, 1, 2, 3), (0, 1, 2, 3)),
    ("six", (0, 1, 2, 3, 4, 5), (0, 1, 2, 3, 4, 5)),
    ("six positions", (0, 1, 2, 3, 4, 5), ()),
    ("eleven", tuple(range(11)), tuple(range(6))),
)


class Bodies:
    """The poses with other proportions and habits by clip, or the real ones."""

    def __init__(self, poses: Poses, *, real: bool) -> None:
        self.poses, self.offsets, local = poses, poses.offsets, poses.local
        if not real:
            count = len(poses.tall)
            scale = torch.ones(count, 22, 3, device=DEVICE)
            for group in GROUPS:
                size = torch.exp(BONES * torch.randn(count, 1, device=DEVICE))
                for j in group:
                    scale[:, j] = size
            scale[:, [9, 13], 0] *= torch.exp(BONES * torch.randn(count, 1, device=DEVICE))
            self.offsets = poses.offsets * scale
            habit = torch.zeros(count, 22, 3, device=DEVICE)
            habit[:, list(HABITS)] = HABIT * torch.randn(count, len(HABITS), 3, device=DEVICE)
            habit[:, 2:8] *= 0.7
            local = poses.local @ body.exp(habit)[poses.clip]
        self.tall = body.height(self.offsets)
        self.places, self.world = body.forward(local, self.offsets[poses.clip], poses.root)
        self.points = self.places[:, body.JOINTS].contiguous()
        self.turns = self.world[:, body.MARKERS][..., :2].transpose(-1, -2).contiguous()  # X and Y as rows


def drawn(bodies: Bodies, i: Tensor, points: tuple[int, ...] | None = None, turns: tuple[int, ...] = ()) -> body.Sample:
    """Samples of these rows; with `points`, exactly these trackers, as they are."""
    count, given = len(i), points is not None
    poses = bodies.poses

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, device=DEVICE)

    def uniform(*shape: int) -> Tensor:
        return torch.rand(*shape, device=DEVICE)

    clip, first = poses.clip[i], poses.first[i]
    tall = bodies.tall[clip]
    before = [i] + [torch.maximum(i - lag, first) for lag in body.STEPS_BACK]
    seen = torch.stack([bodies.points[k] for k in before], 1)  # (B, 1 + lags, 13, 3)
    axes = torch.stack([bodies.turns[k] for k in (before[0], before[1 + ORIENTATION_LAG])], 1)  # (B, 2, 6, 2, 3)
    left = bodies.world[i, 0, :, 0]
    heading = left.clone()
    floor = torch.ones(count, device=DEVICE)
    level = torch.zeros(count, device=DEVICE)
    if given:
        known = torch.zeros(count, 13, device=DEVICE)
        known[:, list(points or ())] = 1.0
        turned = torch.zeros(count, 6, device=DEVICE)
        turned[:, list(turns)] = 1.0
        up = torch.tensor([[0.0, 1.0, 0.0]], device=DEVICE).expand(count, 3)
        floor = floor * (1.0 - known[:, 4] * known[:, 5])
        sway = torch.zeros(count, device=DEVICE)
    else:
        known, turned = masks(count)
        pace = torch.where(uniform(count, 1, 1, 1) < ALONE, 0.0, torch.exp(PACE * normal(count, 1, 1, 1)))
        seen = seen[:, :1] + (seen - seen[:, :1]) * pace
        axes = axes[:, :1] + (axes - axes[:, :1]) * pace[..., None]
        size = uniform(count) * (uniform(count) < SHIFTED)
        shift = normal(count, 13, 3) * (SHIFT / 3**0.5 * size)[:, None, None]
        seen = seen + shift[:, None]
        size = size + (uniform(count) < NOISY) * SHAKEN / ROTATED
        spin = body.exp(normal(count, 6, 3) * (ROTATED / 3**0.5 * size)[:, None, None])
        axes = (spin[:, None, :, None] * axes[..., None, :]).sum(-1)
        noise = NOISE * uniform(count) * (uniform(count) < NOISY) * tall
        seen = seen + normal(*seen.shape) * noise[:, None, None, None]
        up = body.unit(torch.tensor([0.0, 1.0, 0.0], device=DEVICE) + TILT * normal(count, 3))
        heading = torch.where(
            (uniform(count) < NO_HEADING)[:, None],
            torch.tensor([1.0, 0.0, 0.0], device=DEVICE),
            body.unit(heading + HEADING * normal(count, 3)),
        )
        floor = (uniform(count) >= torch.where(known[:, 4] * known[:, 5] > 0.0, FEET, NO_FLOOR)).float()
        level = FLOOR * normal(count)
        sway = UNSURE * normal(count) * (1.0 - turned[:, 0])
    return body.Sample(
        seen, axes, known, turned, heading, up, sway, floor, level, bodies.offsets[clip], tall, bodies.places[i],
        bodies.world[i],
    )  # fmt: skip


def masks(count: int) -> tuple[Tensor, Tensor]:
    """(which points (count, 13), which orientations (count, 6)) are known."""
    kind = torch.rand(count, device=DEVICE)
    known = (torch.rand(count, 13, device=DEVICE) < 0.5).float()
    known[:, 6:] = 0.0
    upto = 0.0
    for share, points in SETS:
        these = (kind >= upto) & (kind < upto + share)
        row = torch.zeros(13, device=DEVICE)
        row[list(points)] = 1.0
        known[these] = row
        upto += share
    more = (torch.rand(count, 7, device=DEVICE) < EACH) & (torch.rand(count, 1, device=DEVICE) < MORE)
    known[:, 6:] = more.float()
    lost = (torch.rand(count, 13, device=DEVICE) < EACH_LOST) & (torch.rand(count, 1, device=DEVICE) < LOST)
    known = known * ~lost
    none = (known[:, 0] + known[:, 1]) == 0
    some = torch.rand(count, device=DEVICE) < 0.25
    known[:, 0] = torch.where(none & some, 1.0, known[:, 0])
    known[:, 1] = torch.where(none & ~some, 1.0, known[:, 1])
    way = torch.rand(count, 1, device=DEVICE)
    turned = torch.where(
        way < ORIENTED,
        1.0,
        torch.where(way < ORIENTED + BARE, 0.0, (torch.rand(count, 6, device=DEVICE) < 0.5).float()),
    )
    return known, turned * known[:, :6]


def error(net: torch.nn.Module, sample: body.Sample) -> tuple[Tensor, Tensor, Tensor]:
    """(what is minimised, mean distance of the height, distance of rotations [rad])."""
    return LOSS(net(sample.features()), sample)


def loss(said: Tensor, sample: body.Sample) -> tuple[Tensor, Tensor, Tensor]:
    """The same of what the network says."""
    places, world = body.reconstruct(said, sample)
    each = (places - sample.places).pow(2).sum(-1).add(1e-10).sqrt() / sample.tall[:, None]
    apart = each.mean(-1)
    turned = ((world - sample.world) ** 2).sum((-1, -2)).mul(0.5).add(1e-6).sqrt().mean(-1)
    log = said[:, 63:68].clamp(-9.0, 1.0)
    total = apart + TURN * turned
    cost = (total * torch.exp(-log[:, 0]) + log[:, 0]).mean()
    limbs = torch.stack([each[:, list(part)].mean(-1) for part in body.PARTS], -1).detach()
    own = (limbs * torch.exp(-log[:, 1:]) + log[:, 1:]).mean()
    return cost + 0.1 * own, apart, turned


LOSS = torch.compile(loss)


def pack(state_path: Path, target: Path, data: Path) -> None:
    """Write the asset: the network as the package reads it, scales of what it says in its last weights."""
    found = torch.load(state_path, map_location="cpu", weights_only=True)
    net = body.Net(HIDDEN, DROPOUT)
    net.load_state_dict(found["even"])
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
    deviation = np.concatenate([state["deviation_s"], state["deviation_a"]])
    origin = {
        "data": "cmu_poses/poses.npz",
        "sha256": hashlib.sha256(data.read_bytes()).hexdigest(),
        "script": "tools/fit_prior.py",
        "seed": str(found["seed"]),
        "steps": str(found["step"]),
    }
    before = Prior.load(target)  # the part for exactly six positions is kept: tools/fit_six.py
    origin["six"] = before.origin.get("six", "")
    weights = np.concatenate(parts).astype(np.float16)
    made = Prior(sizes, weights, state["centre"], deviation, origin, before._six)
    made.save(target)
    print(f"{made}, {target.stat().st_size} bytes in {target}")


if __name__ == "__main__":
    main()
