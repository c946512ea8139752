"""`help` of the main calls: every option is named, with its default, and with a unit where it is a quantity."""

import inspect
import re
from collections.abc import Callable

import pytest

import posable as ps

MAIN: dict[str, Callable] = {
    "figure": ps.figure,
    "load": ps.load,
    "save": ps.save,
    "load_points": ps.load_points,
    "load_targets": ps.load_targets,
    "Humanoid.place": ps.Humanoid.place,
    "Limb.solve": ps.Limb.solve,
    "LimbRange.fit": ps.LimbRange.fit,
    "Reacher": ps.Reacher,
    "Reacher.solve": ps.Reacher.solve,
    "Reacher.animate": ps.Reacher.animate,
    "Behaviour.fit": ps.Behaviour.fit,
    "SequentialIK": ps.SequentialIK,
    "SequentialIK.track": ps.SequentialIK.track,
    "reconstruct": ps.reconstruct.reconstruct,
    "Chain.from_robot": ps.Chain.from_robot,
    "ERIK": ps.ERIK,
    "ERIK.solve": ps.ERIK.solve,
    "ERIK.track": ps.ERIK.track,
    "MotionEditor": ps.MotionEditor,
    "MotionEditor.drag": ps.MotionEditor.drag,
    "MotionEditor.edit": ps.MotionEditor.edit,
    "retarget": ps.retarget,
    "joint_angles": ps.joint_angles,
}

# A quantity has a unit in brackets, or is a number of something, or a part of a whole.
MEASURED = re.compile(r"\[[^\]]+\]|\b(frames a second|fraction|ratio|from 0|0 to 1|number|weight|error|times)\b")


def described(call: Callable) -> dict[str, str]:
    """Name to the text of each row of a call's `Args:`."""
    lines = (inspect.getdoc(call) or "").partition("Args:\n")[2].splitlines()
    rows: dict[str, str] = {}
    for line in lines:
        found = re.match(r"    (\**\w+): (.*)", line)
        if found:
            name = found[1].lstrip("*")
            rows[name] = found[2]
        elif line.startswith("        ") and rows:
            rows[name] += " " + line.strip()
        elif line.strip():
            break
    return rows


@pytest.mark.parametrize("name", MAIN)
def test_help_names_every_option_with_default_and_unit(name: str):
    rows, missing = described(MAIN[name]), []
    for option in inspect.signature(MAIN[name]).parameters.values():
        if option.name == "self":
            continue
        text = rows.get(option.name)
        if text is None:
            missing.append(f"{option.name} is not described")
        elif option.default is not inspect.Parameter.empty and "default" not in text:
            missing.append(f"{option.name} has no default")
        elif re.match(r"(float|int)\b", str(option.annotation)) and not MEASURED.search(text):
            missing.append(f"{option.name} has no unit: {text}")
    assert not missing, f"{name}: " + "; ".join(missing)
