"""Settings of an MJCF file that hold for all its elements: the compiler, default classes, materials and meshes."""

from __future__ import annotations

import math
from pathlib import PurePosixPath

from ...compute.types import Floats
from ...skeleton import MeshFile
from .meshes import MeshFolder, Transformed
from .xml import Element

ACTUATORS = (
    *("general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder", "muscle", "adhesion"),
    *("dcmotor", "plugin"),
)
TRANSFORM = ("pos", "quat", "axisangle", "xyaxes", "zaxis", "euler")
# What is read of each element; other attributes are let go, so that nested classes hold little.
READ = {
    "joint": ("type", "pos", "axis", "range", "limited", "ref", "actuatorfrcrange", "actuatorfrclimited"),
    "geom": ("type", "size", "fromto", "mesh", "material", "rgba", "group", "contype", "conaffinity", *TRANSFORM),
    "site": TRANSFORM,
    "mesh": ("scale", "refpos", "refquat"),
    "material": ("rgba",),
    "actuator": ("forcerange", "forcelimited", "ctrlrange", "ctrllimited", "gear"),
}
PARTIAL = ("size", "gear")  # numbers of which an element may have the first few of its own
MAX_CLASSES = 10_000
LONGEST = 200  # characters of those: each element of the class has them once more


class Settings:
    """Settings of a file.

    Args:
        top: the outermost element, with what it includes.
    """

    def __init__(self, top: Element) -> None:
        compiler: dict[str, str] = {}
        for element in top.all("compiler"):
            compiler |= element.attributes
            if element.attributes.get("coordinate", "local") != "local":
                element.fail("global coordinates are not read; MuJoCo gave them up as well")
            if element.attributes.get("angle", "degree") not in ("degree", "radian"):
                element.fail(f"angle is {element.attributes['angle'][:60]!r}; expected degree or radian")
            sequence = element.attributes.get("eulerseq", "xyz")
            if len(sequence) != 3 or any(letter not in "xyzXYZ" for letter in sequence):
                element.fail(f"eulerseq is {sequence[:60]!r}; expected three of the letters x, y, z, X, Y, Z")
        self.angle = 1.0 if compiler.get("angle", "degree") == "radian" else math.pi / 180.0
        """Radians in the file's unit."""
        self.eulerseq = compiler.get("eulerseq", "xyz")
        self._meshdir = compiler.get("meshdir") or compiler.get("assetdir") or ""
        self._bare_names = compiler.get("strippath", "false") == "true"
        self._autolimits = compiler.get("autolimits", "true") != "false"
        self._classes: dict[str, dict[str, dict[str, str]]] = {"main": {kind: {} for kind in READ}}
        for block in top.all("default"):
            self._read_classes(block)
        self.meshes = MeshFolder(top.path)
        self._mesh_elements = {self._mesh_name(mesh): mesh for block in top.all("asset") for mesh in block.all("mesh")}
        self._mesh_files: dict[str, MeshFile | None] = {}
        self._materials = {
            material.attributes.get("name", ""): self.with_defaults(material, "main", "material")
            for block in top.all("asset")
            for material in block.all("material")
        }

    def check_class(self, element: Element, name: str) -> None:
        """Fail where there is no default class of a name."""
        if name not in self._classes:
            known = ", ".join(list(self._classes)[:8])
            element.fail(f"there is no default class {name[:60]!r}; the file has {known}")

    def with_defaults(self, element: Element, childclass: str, kind: str | None = None) -> Element:
        """Return an element with the attributes of its default class, where it has none of its own."""
        name = element.attributes.get("class", childclass)
        self.check_class(element, name)
        defaults = self._classes[name].get(kind or element.tag)
        if not defaults and element.tag != "freejoint":  # whose attributes are changed
            return element
        return Element(element.path, element.line, element.tag, _over(defaults or {}, element.attributes))

    def limited(self, element: Element, switch: str, bounds: str) -> bool:
        """Return whether a range counts."""
        said = element.attributes.get(switch, "auto")
        if said not in ("true", "false", "auto"):
            element.fail(f"{switch} is {said[:60]!r}; expected true, false or auto")
        if said == "auto":
            return self._autolimits and bounds in element.attributes
        return said == "true" and bounds in element.attributes

    def material(self, name: str) -> Floats | None:
        """Return the colour (4,) of a material, 0 to 1."""
        found = self._materials.get(name)
        return None if found is None else found.numbers("rgba", (1.0, 1.0, 1.0, 1.0))

    def mesh(self, geom: Element) -> MeshFile | None:
        """Return the mesh of a geom, or None where its file is not there or not read, which notes list."""
        name = geom.text("mesh")
        if name not in self._mesh_elements:
            geom.fail(f"there is no mesh {name[:60]!r} in the assets")
        if name not in self._mesh_files:
            self._mesh_files[name] = self._mesh(self._mesh_elements[name])
        return self._mesh_files[name]

    def _mesh_name(self, mesh: Element) -> str:
        return mesh.attributes.get("name") or PurePosixPath(mesh.attributes.get("file", "").replace("\\", "/")).stem

    def _mesh(self, element: Element) -> MeshFile | None:
        full = self.with_defaults(element, "main")
        if not full.attributes.get("file"):
            reason = "mesh without a file is not read", "meshes without files are not read"
            self.meshes.lose(reason, self._mesh_name(element))
            return None
        file = full.attributes["file"].replace("\\", "/")
        if self._bare_names:
            file = PurePosixPath(file).name
        w, x, y, z = full.numbers("refquat", (1.0, 0.0, 0.0, 0.0)).tolist()
        length = math.hypot(w, x, y, z)
        if not 1e-9 < length < math.inf:
            full.fail("its refquat has no direction")
        transform = Transformed(
            full.vector("scale", (1.0, 1.0, 1.0)),
            full.vector("refpos"),
            (w / length, x / length, y / length, z / length),
        )
        return self.meshes.mesh(str(PurePosixPath(self._meshdir.replace("\\", "/")) / file), transform)

    def _read_classes(self, top: Element) -> None:
        waiting = [(top, "main")]
        while waiting:
            block, parent = waiting.pop()
            name = block.attributes.get("class", "main" if block is top else "")
            if not name:
                block.fail("a default class inside another one has no name")
            if block is not top:
                if name in self._classes:
                    block.fail(f"two default classes are called {name[:60]!r}")
                if len(self._classes) >= MAX_CLASSES:
                    block.fail(f"there are more than {MAX_CLASSES} default classes")
                self._classes[name] = {kind: dict(values) for kind, values in self._classes[parent].items()}
            elif name != "main":  # the outermost class may have any name
                self._classes[name] = self._classes["main"]
            for element in block.children:
                kind = "actuator" if element.tag in ACTUATORS else element.tag
                if kind in READ:
                    values = self._classes[name][kind]
                    given = {key: value for key, value in element.attributes.items() if key in READ[kind]}
                    for key in PARTIAL:
                        if len(given.get(key, "")) > LONGEST:
                            element.fail(f"{key} is {given[key][:60]!r}; expected a few numbers")
                    values |= _over(values, given)
            waiting.extend((child, name) for child in reversed(block.children) if child.tag == "default")


def _over(defaults: dict[str, str], own: dict[str, str]) -> dict[str, str]:
    """Return attributes over those of a default class; of sizes, only the numbers that are there replace others."""
    both = defaults | own
    for key in PARTIAL:
        if key in defaults and key in own:
            given = own[key].split(None, 8)
            both[key] = " ".join([*given, *defaults[key].split(None, 8)[len(given) :]])
    return both
