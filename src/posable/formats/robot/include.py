"""`<include>` of MJCF: another file in the folder of the first one, or below it, put in its place."""

from __future__ import annotations

from pathlib import Path

from ...compute.files import inside_folder
from .xml import MAX_DEPTH, MAX_ELEMENTS, Element, read_xml

MAX_FILES = 100


def included(top: Element) -> Element:
    """Return the outermost element of a file with every `<include>` replaced by what it names.

    As in MuJoCo, a file is included once at most, so nothing can go round in circles.
    """
    folder = top.path.parent
    seen = {top.path.resolve()}
    count = 0
    whole = Element(top.path, top.line, top.tag, top.attributes)
    waiting = [(top, whole, 1)]
    while waiting:
        source, target, depth = waiting.pop()
        if depth > MAX_DEPTH:
            source.fail("elements nested too deeply")
        children = list(reversed(source.children))
        while children:
            child = children.pop()
            count += 1
            if count > MAX_ELEMENTS:
                child.fail(f"with what it includes, the file has more than {MAX_ELEMENTS} elements")
            if child.tag == "include":
                children.extend(reversed(_read(child, folder, seen).children))
                continue
            said = {key: value for key, value in child.attributes.items() if value.strip()}  # as MuJoCo does
            copy = Element(child.path, child.line, child.tag, said)
            target.children.append(copy)
            if child.children:
                waiting.append((child, copy, depth + 1))
    return whole


def _read(include: Element, folder: Path, seen: set[Path]) -> Element:
    name = include.text("file")
    path = inside_folder(folder, name)
    if path is not None and not path.exists() and include.path.parent != folder:
        nested = inside_folder(include.path.parent, name)  # MuJoCo looks beside the file that includes it as well
        path = nested if nested is not None and nested.is_relative_to(folder.resolve()) else path
    if path is None:
        include.fail(f"it includes {name[:60]!r}; only files in the folder of the first one are read")
    if path in seen:
        include.fail(f"it includes {name[:60]!r} a second time")
    if len(seen) >= MAX_FILES:
        include.fail(f"more than {MAX_FILES} files are included")
    seen.add(path)
    return read_xml(path)
