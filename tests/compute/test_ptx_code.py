"""Code for NVIDIA's compiler: short names and large functions apart, and nothing else changed."""

import re

import pytest

pytest.importorskip("numba_cuda")
from posable.compute import PosableError, calls, ptx

LONG = "_ZN" + "x" * 200
BODY = "\n".join(f"  %v{k} = add i64 {k}, 1" for k in range(ptx.LARGE + 10))
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
    (made,) = ptx.quick_to_compile(MODULE)
    assert f"{LONG}large" not in made and made.count(f"{LONG}entry") == 2
    short = re.findall(r"@(f\d+_\w+)", made)
    assert len(short) == 2 and len(set(short)) == 1  # where it is called, and where it is defined


def test_in_a_batch_that_is_small_as_a_whole_everything_is_inlined():
    assert "noinline" not in "".join(ptx.quick_to_compile([MODULE]))


def test_large_functions_are_left_apart_and_small_ones_and_kernels_are_not(monkeypatch):
    monkeypatch.setattr(ptx, "WHOLE", MODULE.count("\n") - 1)
    (made,) = ptx.quick_to_compile([MODULE])
    defined = [line for line in made.splitlines() if line.startswith("define")]
    assert [("noinline" in line, "alwaysinline" in line) for line in defined] == [
        (False, False),
        (True, False),
        (False, False),
    ]
    assert defined[1].endswith("noinline {")


def test_two_modules_agree_on_a_name_and_different_names_stay_different():
    one, other = ptx.quick_to_compile(
        [f'declare void @"{LONG}a"()\ndeclare void @"{LONG}b"()', f'declare void @"{LONG}a"()']
    )
    a, b = re.findall(r"@\w+", one)
    assert a != b and re.findall(r"@\w+", other) == [a]


KERNEL = f"""
.version 8.8
.target sm_70
.address_size 64
	// .globl	{LONG}
.visible .entry {LONG}(
	.param .u64 {LONG}_param_0,
	.param .u8 {LONG}_param_1,
	.param .f64 {LONG}_param_2
)
{{
	.pragma "nounroll";
	ld.param.u64 	%rd1, [{LONG}_param_0];
	.pragma "used_bytes_mask 255";
	ld.local.v2.f64 	{{%fd200, %fd201}}, [%rd81];
	ret;
}}
"""


def test_a_kernel_has_a_short_name_and_asks_for_nothing_that_an_old_driver_lacks():
    made = ptx._finished(KERNEL, calls.parsed("? f8"))
    assert LONG not in made and made.count("batch") == 6
    assert ".version 7.0\n" in made and "8.8" not in made and ".target sm_70\n" in made
    assert "nounroll" in made and "used_bytes_mask" not in made
    assert made.count("\n") == KERNEL.count("\n") - 1


@pytest.mark.parametrize("words", ["? f8 f8", "?", "f8 ?", "i8 f8", "f8[1]"])
def test_a_kernel_that_takes_other_parameters_than_are_launched_is_refused(words):
    with pytest.raises(PosableError, match="takes the parameters u64 u8 f64; expected u64"):
        ptx._finished(KERNEL, calls.parsed(words))


def test_code_without_a_kernel_is_refused():
    with pytest.raises(PosableError, match="no kernel"):
        ptx._finished(KERNEL.replace(".entry", ".func"), ())
