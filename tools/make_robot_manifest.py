"""Write `src/posable/assets/robots.json`: the robots that `posable data` can fetch, their files and hashes.

    python -m tools.make_robot_manifest MENAGERIE COMMIT

MENAGERIE is a checkout of https://github.com/google-deepmind/mujoco_menagerie at that commit. A robot's files are the
one that is read, what it includes, its meshes and its licence.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from posable.compute.files import sha256_of
from posable.formats import read_robot
from posable.formats.robot.include import included
from posable.formats.robot.xml import read_xml

URL = "https://raw.githubusercontent.com/google-deepmind/mujoco_menagerie/{commit}/"
ROBOTS = {
    "g1": ("Unitree G1, 29 motors, collision capsules", "unitree_g1/scene_mjx.xml", "BSD-3-Clause"),
    "h1": ("Unitree H1, 19 motors", "unitree_h1/scene.xml", "BSD-3-Clause"),
    "t1": ("Booster T1, 23 motors", "booster_t1/t1.xml", "Apache-2.0"),
    "talos": ("PAL Robotics Talos, 32 motors", "pal_talos/talos_position.xml", "Apache-2.0"),
}
OUT = Path(__file__).resolve().parents[1] / "src" / "posable" / "assets" / "robots.json"


def main(menagerie: Path, commit: str) -> None:
    rows = []
    for name, (description, file, licence) in ROBOTS.items():
        path = menagerie / file
        whole = included(read_xml(path))
        sources = {path, *(element.path for element in everything(whole))}
        folder = next((e.attributes["meshdir"] for e in whole.all("compiler") if "meshdir" in e.attributes), ".")
        meshes = {e.attributes["file"] for a in whole.all("asset") for e in a.all("mesh") if "file" in e.attributes}
        sources |= {path.parent / folder / mesh for mesh in meshes} | {path.parent / "LICENSE"}
        robot = read_robot(path).robot
        assert robot is not None and not any("not found" in note for note in robot.notes), robot
        files = [
            {"file": str(source.relative_to(menagerie)), "bytes": source.stat().st_size, "sha256": sha256_of(source)}
            for source in sorted(sources)
        ]
        rows.append({"robot": name, "description": description, "read": file, "licence": licence, "files": files})
    manifest = {"url": URL.format(commit=commit), "robots": rows}
    OUT.write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


def everything(element):
    """Yield an element and all that is in it."""
    waiting = [element]
    while waiting:
        one = waiting.pop()
        waiting += one.children
        yield one


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2])
