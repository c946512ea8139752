"""How large the code of batches for GPUs is, and how long compiling and assembling it takes.

    python -m tools.measure_ptx posable.limb.solve.solve_rows --large 60 200 600

Assembling, which the driver of a GPU does at the first launch, is done by NVIDIA's `ptxas` here. Seconds are those of
the processor. Without names, all batches are measured.
"""

import argparse
import lzma
import resource
import subprocess
import tempfile
import time
from pathlib import Path

import nvidia

from posable.compute import build, calls, ptx


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=sorted(calls.calls()), help="full names of batches")
    parser.add_argument("--large", nargs="+", type=int, default=[ptx.LARGE], help="lines of a function not inlined")
    parser.add_argument("--arch", default="sm_90", help="the GPU that is assembled for")
    given = parser.parse_args()
    print("| batch | large | PTX | compressed | compiled | assembled |\n|---|---|---|---|---|---|")
    for name in given.names:
        for large in given.large:
            ptx.LARGE = large
            began = time.process_time()
            code = ptx.ptx(build.function_of(name), calls.parsed(calls.calls()[name])).encode()
            compiled = time.process_time() - began
            small = len(lzma.compress(code))
            print(
                f"| {name} | {large} | {len(code) / 1e6:.1f} MB | {small / 1e3:.0f} kB | {compiled:.1f} s "
                f"| {assembling(code, given.arch):.1f} s |",
                flush=True,
            )


def assembling(code: bytes, arch: str) -> float:
    """Return the seconds of the processor that NVIDIA's assembler takes."""
    (assembler, *_) = [found for path in nvidia.__path__ for found in Path(path).glob("cuda_nvcc/bin/ptxas*")]
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "kernel.ptx"
        source.write_bytes(code)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([assembler, "-arch", arch, source, "-o", source.with_suffix(".cubin")], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
