"""What an MJCF file says for all its elements: the compiler's settings, default classes, materials and meshes."""

from __future__ import annotations

import math

from ...compute.types import Floats
from .xml import Element

ACTUATORS = (
    *("general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder", "muscle", "adhesion"),
    *("dcmotor", "plugin"),
)
PLACE = ("pos", "quat", "axisangle", "xyaxes", "zaxis", "euler")
# What is read of each element; other attributes are let go, so that nested classes hold little.
READ = {
    "joint": ("type", "pos", "axis", "range", "limited", "ref", "actuatorfrcrange", "actuatorfrclimited"),
    "geom": ("type", "size", "fromto", "mesh", "material", "rgba", "group", "contype", "conaffinity", *PLACE),
    "site": PLACE,
    "mesh": ("scale", "refpos", "refquat"),
    "material": ("rgba",),
    "actuator": ("forcerange", "forcelimited", "ctrlrange", "ctrllimited", "gear"),
}
MAX_CLASSES = 10_000


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
        self.meshdir = compiler.get("meshdir") or compiler.get("assetdir") or ""
        self._autolimits = compiler.get("autolimits", "true") != "false"
        self._classes: dict[str, dict[str, dict[str, str]]] = {"main": {kind: {} for kind in READ}}
        for block in top.all("default"):
            self._read_classes(block)
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
        defaults = self._classes[name].get(kind or element.tag, {})
        return Element(element.path, element.line, element.tag, defaults | element.attributes)

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
                    values |= given
            waiting.extend((child, name) for child in reversed(block.children) if child.tag == "default")
