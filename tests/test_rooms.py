"""The rooms of the package: who may use whom, and that nothing is loaded before it is wanted."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import posable

PACKAGE = Path(posable.__file__).parent
ROOT = PACKAGE.parents[1]

# A room may use the rooms before it in this list, never those after it.
ORDER = [
    "compute",
    "math",
    "skeleton",
    "limits",
    "formats",
    "collision",
    "limb",
    "body",
    "samples",
    "reach",
    "reconstruct",
    "classic",
    "express",
    "edit",
    "robots",
    "render",
    "jobs",
    "evaluate",
    "live",
    "studio",
    "cli",
]
ROOMS = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))
# Heavy packages: Numba alone takes longer to import than everything we do at start.
HEAVY = ["numba", "scipy", "viser", "typer", "rich", "matplotlib", "yourdfpy", "trimesh", "pygltflib", "pooch", "coal"]
HEAVY += ["joblib", "distributed", "ray"]


def rooms_imported_by(path: Path) -> list[tuple[int, str]]:
    """(line, room) for every import in a file of the package, inside functions too; other names of the root as is."""
    package = ["posable", *path.relative_to(PACKAGE).parent.parts]
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            start = ".".join([*base, *([node.module] if node.module else [])])
            # "from posable import math" and "from .. import math" name the room only in what they import
            targets = [f"{start}.{alias.name}" for alias in node.names] if start == "posable" else [start]
        else:
            continue
        found += [(node.lineno, target.split(".")[1]) for target in targets if target.startswith("posable.")]
        found += [(node.lineno, "posable") for target in targets if target == "posable"]
    return found


def test_every_room_has_its_place_in_the_order():
    assert set(ROOMS) - {"assets"} <= set(ORDER)


@pytest.mark.parametrize("room", [room for room in ROOMS if room in ORDER])
def test_a_room_uses_only_rooms_above_it(room):
    above = {*ORDER[: ORDER.index(room) + 1], "assets", "__version__"}
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {imported}"
        for path in sorted((PACKAGE / room).rglob("*.py"))
        for line, imported in rooms_imported_by(path)
        if imported not in above
    ]
    assert not wrong, "\n".join(wrong)


def test_only_what_users_call_on_a_motion_or_a_path_asks_for_a_later_room():
    asking = {
        f"{path.relative_to(PACKAGE).as_posix()}: {room}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for room in re.findall(r"later_room\(\"([\w.]+)\"\)", path.read_text(encoding="utf-8"))
        if path.name != "lazy.py"
    }
    assert asking == {
        "skeleton/motion.py: render",
        "formats/html.py: render",
        "formats/smpl/__init__.py: body",  # a file without bones, read onto the figure's and written from any person's
        "formats/c3d/__init__.py: body",  # markers become a body, which the reconstruct room fits
        "formats/c3d/__init__.py: limb",
        "formats/c3d/__init__.py: reconstruct",
        "formats/gltf/vrma.py: body",
        "formats/gltf/vrma.py: body.roles",
        "formats/people.py: body",  # files that hold a person are written from any, and say so of others
        "formats/smpl/joints.py: body",
        "formats/smpl/standing.py: body.contacts",
    }


def test_the_import_reader_sees_every_way_of_importing(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "PACKAGE", tmp_path)
    (tmp_path / "math").mkdir()
    file = tmp_path / "math" / "some.py"
    file.write_text(
        "import numpy\nimport posable.studio\nfrom posable import cli\nfrom posable.edit.warp import x\n"
        "from .. import body\nfrom ..limb import y\nfrom . import vector\nfrom .vector import z\n"
        "def f():\n    from ..reach import w\n    import posable\n"
    )
    expected = ["studio", "cli", "edit", "body", "limb", "math", "math", "reach", "posable"]
    assert [room for _, room in rooms_imported_by(file)] == expected


def test_rooms_with_kernels_are_tested_with_indices_checked():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    listed = set(re.search(r"^KERNEL_ROOMS := (.*)$", makefile, re.MULTILINE)[1].split())
    compiled = {
        room
        for room in ROOMS
        for path in (PACKAGE / room).rglob("*.py")
        if re.search(r"^@(kernel|batch)", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert compiled <= listed


@pytest.mark.parametrize("room", [room for room in ROOMS if room not in {"assets", "cli"}])
def test_a_room_has_a_page_in_the_reference(room):
    assert (ROOT / "docs" / "api" / f"{room}.md").exists()
    assert room in (ROOT / "docs" / "api" / "index.md").read_text(encoding="utf-8").split()


def run_python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_importing_posable_loads_nothing_heavy():
    loaded = run_python("import sys, posable; print(*sys.modules)").split()
    assert not set(HEAVY) & set(loaded)


def test_reading_the_list_of_names_loads_nothing_heavy():
    loaded = run_python("import sys, posable; dir(posable), posable.__all__; print(*sys.modules)").split()
    assert not set(HEAVY) & set(loaded)


@pytest.mark.parametrize("name", getattr(posable, "__all__", []))
def test_a_public_name_resolves(name):
    assert getattr(posable, name) is not None


def test_the_list_of_names_has_the_public_names_and_the_rooms():
    shown = set(dir(posable))
    assert shown == {*posable.__all__, *ROOMS} - {"assets"}
    assert {name for name in ROOMS if name != "assets"} <= set(vars(posable)["_ROOMS"])


def test_type_checkers_see_every_room_and_every_public_name():
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.name for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert seen == set(dir(posable)) - {"__version__"}


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = posable.no_such_thing
