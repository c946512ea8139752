"""Makes src/posable/assets/prior.npz: the learned prior of `SequentialIK`, from captured motion.

    python tools/fit_prior.py --state FILE [--data ../shared/data] [--seed 0] [--steps N] [--validate] [--resume]
    python tools/fit_prior.py --state FILE --pack [--target FILE]

Needs torch and the files beside it (`prior_body`, `prior_samples`), and of the package only `prior_layout` and
`mirrors` (`--pack` needs all of it). On a GPU the loss is compiled and a step is one graph; where a machine cannot do
either, the fit goes on without. A state is written every two thousand steps; `--resume` goes on from it, `--start
FILE` begins with the weights of another. `--seconds` ends a run in time: the rate falls with whichever is nearer to
its end, steps or time. With `--validate` eight groups of subjects (numbers of one person together, drawn with seed 0)
are not learned, and errors on them by set of trackers are printed every four thousand steps.

The shipped weights: `--seconds 476 --seed 1 --unusual 1`, 32,600 steps of 12,288 poses on an H200 that another run
shared, with `LEGS_AHEAD` and `LEGS_UP` of prior_samples at 0; then `--start` with those weights, `--seconds 235 --seed
3 --unusual 1.2 --rate 1.2e-3`, 18,600 steps. Seconds begin before the loss is compiled (a minute). Chosen by held-out
subjects when the network saw nine proportions, four runs at a time: 512 and 256 pairs of units (384 and 192 were as
good after 5,000 steps), dropout 0.05 at its beginning (0.15 throughout: worse in ten of eleven sets, no set better),
`CALM` 2 (6: errors 3 to 19 % larger, 68 % with everything known, bodies 3 % calmer). Dropout falls to none, as another
4,700 steps without it were better by 1 to 5 % in most sets.

Chosen on what docs/reconstruct.md measures, clips and bodies: `--unusual 1`, not 0.5 (beside it, as long: 0.9 % worse
on captured bodies, 3 to 15 % on the eight others); the second run, as the first had taken legs that sit further back
for a spine that is further forward (errors of the built-in figure 9 % smaller with that number left out); that run's
weights (1 % better on captured bodies, 2 to 6 % on the others).

A sample is a pose of cmu_poses with other proportions and habits (every clip's joints rotated, an arm from another
clip), a set of trackers and of orientations, their past, and what real trackers do: they do not sit in the joints, are
noisy and get lost; a few bodies are turned any way. Two thirds of the time bodies are others: bones of other lengths,
the hips' joint, legs, spine and shoulders where rigs have them, and a body stands as high above the floor as its legs
are long. What is minimised is the error of the whole body (mean distance of its 22 joints and of its rotations),
through the analytic parts (`prior_body`), divided by the error that the network itself expects, plus the logarithm of
that: so sets with large errors do not drown those with small ones, and the network learns what it does not know. A
third of the samples are also seen 1/30 s earlier, with noise of their own: errors that change within that time count
twice (`CALM`).
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
from prior_samples import DEVICE, EARLIER, Bodies, Poses, drawn, exactly
from torch import Tensor

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "src/posable/assets/prior.npz"
HIDDEN, STEPS, BATCH, TWINS, RATE, DECAY, WARM, DROPOUT = [512, 256], 60000, 12288, 4096, 2e-3, 0.02, 300, 0.05
CALM = 2.0  # weight of errors of displacements over 1/30 s, next to errors of positions
TURN = 0.03  # heights that a radian counts as
VARY, SAID, SAVED, MEASURED = 250, 500, 2000, 4000  # steps between other bodies; lines; states; errors
EVENED = 0.9995  # of the evened weights that a step keeps
SIX, ELEVEN = tuple(range(6)), tuple(range(11))
JUDGED = (
    ("head, hands", (1, 2, 3), (1, 2, 3)),
    ("head, hands, positions", (1, 2, 3), ()),
    ("head, hands, hips", (0, 1, 2, 3), (0, 1, 2, 3)),
    ("head, hands, hips, positions", (0, 1, 2, 3), ()),
    ("head, hands, feet", (1, 2, 3, 4, 5), (1, 2, 3, 4, 5)),
    ("head, hands, feet, positions", (1, 2, 3, 4, 5), ()),
    ("six", SIX, SIX),
    ("six positions", SIX, ()),
    ("eleven", ELEVEN, SIX),
    ("eleven, all oriented", ELEVEN, ELEVEN),
    ("eleven positions", ELEVEN, ()),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = os.environ.get("POSABLE_DATA", ROOT.parent / "shared" / "data")
    parser.add_argument("--data", type=Path, default=Path(default))
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--seconds", type=float, default=math.inf, help="steps are left out that would take longer")
    parser.add_argument("--rate", type=float, default=RATE)
    parser.add_argument("--calm", type=float, default=CALM)
    parser.add_argument("--dropout", type=float, default=DROPOUT, help="at the beginning; none at the end")
    parser.add_argument("--unusual", type=float, default=1.0, help="how unusual bodies are at most")
    parser.add_argument("--hidden", default=",".join(map(str, HIDDEN)))
    parser.add_argument("--batch", type=int, default=BATCH)
    parser.add_argument("--validate", action="store_true", help="hold subjects out and judge by them")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--start", type=Path, help="a state whose weights to start from")
    parser.add_argument("--pack", action="store_true", help="write the asset from a state")
    parser.add_argument("--target", type=Path, default=TARGET)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    torch.set_float32_matmul_precision("high")
    path = options.data / "cmu_poses" / "poses.npz"
    if options.pack:
        pack(options.state, options.target, path)
        return
    Fit(Poses(path), options).run()


class Fit:
    """A network, its optimiser, and a step of both as one graph where there is a GPU."""

    def __init__(self, poses: Poses, options: argparse.Namespace) -> None:
        self.options, self.bodies = options, Bodies(poses, options.unusual)
        unseen = np.isin(poses.subject, poses.held_out() if options.validate else [])
        self.total = poses.shares(unseen)
        self.judged = torch.tensor(np.flatnonzero(np.repeat(unseen, np.diff(poses.start)))[::7], device=DEVICE)
        self.hidden = [int(n) for n in options.hidden.split(",")]
        self.net = body.Net(self.hidden).to(DEVICE)
        self.net.dropout.fill_(options.dropout)
        on_gpu = DEVICE == "cuda"
        self.rate = torch.tensor(options.rate, device=DEVICE) if on_gpu else options.rate
        self.optimiser = torch.optim.AdamW(
            self.net.parameters(), lr=self.rate, weight_decay=DECAY, fused=on_gpu, capturable=on_gpu
        )
        self.step, self.spent = 0, 0.0
        self.new = torch.ones((), device=DEVICE)  # what a step adds to the evened weights
        self.sums = torch.zeros(4, device=DEVICE)
        self.cost = loss
        with torch.no_grad():
            self.net.standardise(torch.cat([self._features(real=k % 3 == 2) for k in range(9)]))
        self.even = {name: value.clone() for name, value in self.net.state_dict().items()}
        if options.resume and options.state.exists():
            self.load(options.state)
        elif options.start:
            found = torch.load(options.start, map_location=DEVICE, weights_only=True)
            self.net.load_state_dict(found["even"])
            self.even = {name: value.clone() for name, value in self.net.state_dict().items()}

    def _features(self, *, real: bool) -> Tensor:
        self.bodies.vary(real=real)
        return self.sample(2048)[0].features()

    def load(self, path: Path) -> None:
        found = torch.load(path, map_location=DEVICE, weights_only=True)
        self.net.load_state_dict(found["net"])
        self.even, self.step, self.spent = found["even"], found["step"], found["spent"]
        self.optimiser.load_state_dict(found["optimiser"])

    def save(self) -> None:
        path = self.options.state
        found = {"net": self.net.state_dict(), "even": self.even, "step": self.step, "spent": self.spent}
        found |= {"seed": self.options.seed, "hidden": self.hidden, "optimiser": self.optimiser.state_dict()}
        torch.save(found, path.with_suffix(".new"))
        path.with_suffix(".new").replace(path)

    def sample(self, count: int, twins: int = 0) -> tuple[body.Sample, Tensor]:
        draw = torch.rand(count, device=DEVICE, dtype=torch.float64)
        rows = torch.searchsorted(self.total, draw).clamp_max(len(self.total) - 1)
        return drawn(self.bodies, rows, twins)

    def descend(self) -> None:
        """A step: draw, differentiate, descend, even out."""
        with torch.no_grad():
            sample, was = self.sample(self.options.batch, TWINS * self.options.batch // BATCH)
        cost, measured = self.cost(self.net(sample.features()), sample, was, self.options.calm)
        self.optimiser.zero_grad(set_to_none=False)
        cost.backward()
        with torch.no_grad():
            slopes = [p.grad for p in self.net.parameters()]
            size = torch.stack([(g * g).sum() for g in slopes]).sum().sqrt()
            share = torch.where(torch.isfinite(size), (1.0 / size.clamp_min(1e-9)).clamp_max(1.0), 0.0)
            for g in slopes:
                g.nan_to_num_(0.0, 0.0, 0.0).mul_(share)
        self.optimiser.step()
        with torch.no_grad():
            for name, value in self.net.named_parameters():
                self.even[name].lerp_(value, self.new)
            self.sums += measured.detach()

    def prepared(self) -> object:
        """The step as one graph with a compiled loss, or as it is: compiled, replayed, or neither where that fails."""
        for parameter in self.net.parameters():
            parameter.grad = torch.zeros_like(parameter)
        if DEVICE != "cuda":
            return self.descend
        for compiled in (True, False):
            self.cost = torch.compile(loss) if compiled else loss
            try:
                side = torch.cuda.Stream()
                side.wait_stream(torch.cuda.current_stream())
                with torch.cuda.stream(side):
                    for _ in range(3):
                        self.descend()
                torch.cuda.current_stream().wait_stream(side)
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):
                    self.descend()
                print(f"one graph a step, loss {'compiled' if compiled else 'as it is'}", flush=True)
                return graph.replay
            except Exception as error:  # whatever this machine lacks, the fit goes on more slowly
                print(f"compiled {compiled}: {type(error).__name__}: {str(error)[:600]}", flush=True)
                torch.cuda.synchronize()
        return self.descend

    def run(self) -> None:
        began = time.time()
        advance = self.prepared()
        already, last = self.spent, self.step
        self.sums.zero_()
        while self.step < self.options.steps and self.spent < self.options.seconds:
            if self.step % VARY == 0:
                self.bodies.vary(real=self.step // VARY % 3 == 2)
            done = max(self.step / self.options.steps, self.spent / self.options.seconds)
            rate = self.options.rate * min(1.0, (self.step + 1) / WARM) * (0.502 + 0.498 * math.cos(math.pi * done))
            if isinstance(self.rate, Tensor):
                self.rate.fill_(rate)
            else:
                for group in self.optimiser.param_groups:
                    group["lr"] = rate
            self.net.dropout.fill_(self.options.dropout * (1.0 - min(done, 1.0)))
            self.new.fill_(1.0 - min(EVENED, (self.step + 1) / (self.step + 50)))
            advance()
            self.step += 1
            if self.step % 50 == 0:
                if DEVICE == "cuda":
                    torch.cuda.synchronize()
                self.spent = already + time.time() - began
            if self.step % SAID == 0:
                told = (self.sums / (self.step - last)).tolist()
                self.sums.zero_()
                last = self.step
                print(f"{self.step}: " + ", ".join(f"{x:.5f}" for x in told) + f", {self.spent:.0f} s", flush=True)
            if self.step % SAVED == 0:
                self.save()
            if self.step % MEASURED == 0 and len(self.judged):
                self.judge()
        self.save()
        if len(self.judged):
            self.judge()
        print(f"{self.step} steps, {self.spent:.0f} s", flush=True)

    @torch.no_grad()
    def judge(self) -> None:
        """Print errors on unseen subjects, by set of trackers."""
        self.bodies.vary(real=True)
        net = body.Net(self.hidden).to(DEVICE)
        net.load_state_dict(self.even)
        net.eval()
        for name, points, turns in JUDGED:
            places, off, said = [], [], None
            for part in (0.0, EARLIER):
                sample = exactly(self.bodies, self.judged, points, turns, part)
                answer = net(sample.features())
                said = answer if said is None else said
                places.append(body.reconstruct(answer, sample)[0])
                off.append(places[-1] - sample.places)
            apart = off[0].norm(dim=-1).mean(-1)
            expects = said[:, 63].exp() * sample.tall
            both = torch.corrcoef(torch.stack([apart.log(), expects.log()]))[0, 1]
            shaken = (off[0] - off[1]).norm(dim=-1).mean()
            print(
                f"  {name}: {100 * apart.mean():.2f} cm, expects {100 * expects.mean():.2f}, {both:.2f}, "
                f"shakes by {1000 * shaken:.2f} mm",
                flush=True,
            )


def loss(said: Tensor, sample: body.Sample, was: Tensor, calm: float) -> tuple[Tensor, Tensor]:
    """(what is minimised; itself, mean distance of the height, of rotations [rad], of displacements)."""
    places, world = body.reconstruct(said, sample)
    count, twins = len(sample.places), len(was)
    tall, log = sample.tall[:count], said[:count, 63:68].clamp(-9.0, 1.0)
    off = places[:count] - sample.places
    each = off.pow(2).sum(-1).add(1e-10).sqrt() / tall[:, None]
    apart = each.mean(-1)
    turned = ((world[:count] - sample.world) ** 2).sum((-1, -2)).mul(0.5).add(1e-6).sqrt().mean(-1)
    total = apart + TURN * turned
    cost = (total * torch.exp(-log[:, 0]) + log[:, 0]).mean()
    limbs = each[:, 9:12], each[:, 13:16], each[:, 16:19], each[:, 19:22]
    own = torch.stack([limb.mean(-1) for limb in limbs], -1).detach()
    cost = cost + 0.1 * (own * torch.exp(-log[:, 1:]) + log[:, 1:]).mean()
    moved = off[:twins] - (places[count:] - was)
    shaken = moved.pow(2).sum(-1).add(1e-12).sqrt().mean(-1) / tall[:twins]
    cost = cost + calm * (shaken * torch.exp(-log[:twins, 0].detach())).mean()
    return cost, torch.stack([cost.detach(), apart.mean(), turned.mean(), shaken.mean()])


def pack(state_path: Path, target: Path, data: Path) -> None:
    """Write the asset: the network as the package reads it, scales of what it says in its last weights."""
    from posable.reconstruct.prior import Prior

    found = torch.load(state_path, map_location="cpu", weights_only=True)
    hidden = found["hidden"]
    net = body.Net(hidden)
    net.load_state_dict(found["even"])
    state = {name: value.double().cpu().numpy() for name, value in net.state_dict().items()}
    sizes = [len(state["in_s"]), len(state["in_a"]), *hidden, len(state["out_s"]), len(state["out_a"])]
    scale = {k: (state[f"out_{k}"] != 0.0) @ state["scales"] / (state[f"out_{k}"] != 0.0).sum(1) for k in "sa"}
    last, parts = len(hidden), []
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
    made = Prior(sizes, np.concatenate(parts).astype(np.float16), state["centre"], deviation, origin)
    made.save(target)
    print(f"{made}, {target.stat().st_size} bytes in {target}")


if __name__ == "__main__":
    main()
