"""What a new machine compiles, and what takes the time: kernels, their versions, and where versions differ.

    python -m tools.measure_compiling                  # every use below, each in a new interpreter with an empty cache
    python -m tools.measure_compiling reach limb       # these
    python -m tools.measure_compiling --kernels 25 reach     # and the kernels that take longest
    python -m tools.measure_compiling --versions reach       # and what distinguishes the versions of a kernel

Seconds are processor time, so that neighbours on the machine do not count.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

USES = {
    "limb": """
body = ps.figure()
body.limb("right_arm").solve([0.3, -0.2, 0.2], [1.0, 0.0, 0.0, 0.0])
""",
    "place": """
body = ps.figure()
body.place(body.neutral_pose, "right_hand", ps.Target([-0.3, 1.25, 0.3]))
""",
    "reach": """
body = ps.figure()
ps.Reacher(body, right=ps.Behaviour.default(body, "right_arm")).solve(right=ps.Target([-0.3, 1.25, 0.3]))
""",
    "six points": """
body = ps.figure()
ps.SequentialIK(body).solve(body.markers(body.neutral_pose))
""",
    "classic": """
body = ps.figure()
points = body.markers(body.neutral_pose)
for name in ps.classic.METHODS:
    ps.classic.METHODS[name](body).solve(points)
""",
    "express": """
ps.ERIK(ps.Chain.from_axes("YXXZY")).solve([0.1] * 5, [1.0, 0.0, 0.0, 0.0])
""",
    "edit": """
body = ps.figure()
editor = ps.MotionEditor(ps.samples.walk(body), body)
editor.drag(frame=10, part="left_hand", displacement=(0.0, 0.02, 0.0))
editor.edit(frame=10, part="left_hand", displacement=(0.0, 0.02, 0.0))
editor.motion
""",
    "studio's editing": """
from posable.studio.core.edits import rehearse
from posable.studio.tabs.pose.options import LIMITS, limits_of
body = ps.figure()
motion = ps.samples.walk(body)
for limits in LIMITS:
    rehearse(ps.MotionEditor(motion, body, weights="identity", limits=limits_of(limits, body)))
""",
    "all of these": "",
}
USES["all of these"] = "".join(USES.values())


class Watch:
    """Counts what Numba compiles of ours, and the seconds of it."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.phases: dict[str, float] = defaultdict(float)
        self.versions: dict[str, list[list[str]]] = defaultdict(list)
        self._open: list[float] = []

    def install(self) -> None:
        from numba.core import codegen, event

        library: Any = codegen.CPUCodeLibrary
        self._time(library, "_optimize_functions", "optimising")
        self._time(library, "_optimize_final_module", "optimising")
        self._time(codegen.JITCodeLibrary, "_finalize_specific", "machine code")
        watch = self

        class Listener(event.Listener):  # type: ignore[misc]
            def on_start(self, event: Any) -> None:
                watch._open.append(0.0)
                event.data["began"] = time.process_time()

            def on_end(self, event: Any) -> None:
                watch._finished(event)

        event.register("numba:compile", Listener())  # type: ignore[no-untyped-call]

    def _finished(self, event: Any) -> None:
        took = time.process_time() - event.data["began"]
        inner = self._open.pop()
        if self._open:
            self._open[-1] += took
        else:
            self.phases["compiling"] += took
        function = event.data["dispatcher"].py_func
        name = f"{function.__module__.removeprefix('posable.')}.{function.__qualname__}"
        self.seconds[name] += took - inner
        self.versions[name].append([str(arg) for arg in event.data["args"]])

    def _time(self, owner: Any, method: str, phase: str) -> None:
        original: Callable[..., Any] = getattr(owner, method)

        def timed(*args: Any) -> Any:
            began = time.process_time()
            try:
                return original(*args)
            finally:
                self.phases[phase] += time.process_time() - began

        setattr(owner, method, timed)


def child(code: str) -> None:
    """Run this code, then print what it compiled as JSON."""
    watch = Watch()
    watch.install()
    import posable as ps

    exec(code, {"ps": ps})
    facts = {"seconds": watch.seconds, "phases": watch.phases, "versions": watch.versions}
    print(json.dumps(facts | {"process": time.process_time()}))


def measured(code: str) -> dict[str, Any]:
    """What this code compiles in a new interpreter with an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tools.measure_compiling", "--child"]
        environment = {**os.environ, "POSABLE_CACHE": folder}
        done = subprocess.run(command, input=code, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    facts: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return facts


def differences(versions: list[list[str]]) -> list[str]:
    """The arguments in which versions of a kernel differ, one line each."""
    told = []
    for k in range(max(map(len, versions))):
        kinds = list(dict.fromkeys(version[k] if k < len(version) else "-" for version in versions))
        if len(kinds) > 1:
            told.append(f"      argument {k}: {len(kinds)}: " + " | ".join(kind[:70] for kind in kinds[:6]))
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("use", nargs="*", help=f"of {', '.join(USES)}")
    parser.add_argument("--kernels", type=int, default=0, help="how many of the slowest kernels to list")
    parser.add_argument("--versions", action="store_true", help="tell where the versions of a kernel differ")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return child(sys.stdin.read())
    print(f"{'':18}{'seconds':>8}{'numba':>8}{'optimise':>9}{'machine':>8}{'kernels':>8}{'versions':>9}")
    for use in options.use or USES:
        facts = measured(USES[use])
        seconds, phases, versions = facts["seconds"], facts["phases"], facts["versions"]
        whole, optimising, machine = phases["compiling"], phases["optimising"], phases["machine code"]
        several = sum(map(len, versions.values()))
        print(
            f"{use:18}{whole:8.1f}{whole - optimising - machine:8.1f}{optimising:9.1f}{machine:8.1f}"
            f"{len(versions):8}{several:9}",
            flush=True,
        )
        shown = sorted(seconds, key=lambda name: -seconds[name])
        for name in shown[: options.kernels]:
            print(f"   {seconds[name]:6.2f}  {len(versions[name])} x {name}")
        for name in shown if options.versions else ():
            if len(versions[name]) > 1:
                print(f"   {seconds[name]:6.2f}  {len(versions[name])} x {name}")
                print("\n".join(differences(versions[name])))


if __name__ == "__main__":
    main()
