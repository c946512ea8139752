"""Code for NVIDIA's compiler: short names and large functions apart, and nothing else changed."""

import re

import pytest

pytest.importorskip("numba_cuda")
from posable.compute import cuda

LONG = "_ZN" + "x" * 200
BODY = "\n".join(f"  %v{k} = add i64 {k}, 1" for k in range(cuda.LARGE + 10))
MODULE = f"""
define void @"{LONG}entry"(i64 %n)
{{
{BODY}
  call void @"{LONG}large"(i64 %n)
  call void @small(i64 %n)
  ret void
}}
define linkonce_odr void @"{LONG}large"(i64 %n) alwaysinline {{
{BODY}
  ret void
}}
define void @small(i64 %n) {{
  ret void
}}
!nvvm.annotations = !{{!0}}
!0 = !{{void (i64)* @"{LONG}entry", !"kernel", i32 1}}
"""


def test_long_names_become_short_everywhere_and_those_of_kernels_stay():
    (made,) = cuda.quick_to_compile(MODULE)
    assert f"{LONG}large" not in made and made.count(f"{LONG}entry") == 2
    short = re.findall(r"@(f\d+_\w+)", made)
    assert len(short) == 2 and len(set(short)) == 1  # where it is called, and where it is defined


def test_large_functions_are_left_apart_and_small_ones_and_kernels_are_not():
    (made,) = cuda.quick_to_compile([MODULE])
    defined = [line for line in made.splitlines() if line.startswith("define")]
    assert [("noinline" in line, "alwaysinline" in line) for line in defined] == [
        (False, False),
        (True, False),
        (False, False),
    ]
    assert defined[1].endswith("noinline {")


def test_two_modules_agree_on_a_name_and_different_names_stay_different():
    one, other = cuda.quick_to_compile(
        [f'declare void @"{LONG}a"()\ndeclare void @"{LONG}b"()', f'declare void @"{LONG}a"()']
    )
    a, b = re.findall(r"@\w+", one)
    assert a != b and re.findall(r"@\w+", other) == [a]
