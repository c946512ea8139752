"""One language: identifiers and docstrings speak the words of the field (`docs/glossary.md` explains them)."""

import ast
import re
from pathlib import Path

import pytest

import posable

PACKAGE = Path(posable.__file__).parent

# A word that may not be a part of an identifier: what to say in its place.
WORDS = {
    "place": "position (a `place` that is called places a hand or a foot)",
    "places": "positions",
    "turn": "rotation or orientation",
    "turns": "rotations or orientations",
    "turned": "rotated",
    "told": "report, result or message",
    "tell": "report or show",
    "telling": "message",
    "say": "weight or message",
    "heard": "weight",
    "asked": "requested",
    "asking": "request",
    "wanted": "target or requested",
    "held": "constrained or locked",
    "kept": "fixed or stored",
    "way": "displacement, direction or path",
    "ways": "directions or paths",
    "share": "fraction or weight",
    "shares": "fractions or weights",
    "beside": "paired",
    "leap": "jump",
    "leapt": "jumped",
    "thing": "obstacle",
    "things": "obstacles",
    "rebuild": "reconstruct",
    "rebuilt": "reconstructed",
}
OPENINGS = re.compile(r"(What|Have|That|And)\b")
# Names that others chose, viser's and Numba's; and the class of what `place` returns.
FOREIGN = {"PlaceSolution", "ShareUrlRequest", "ShareUrlDisconnect", "show_share_button"}
ROOMS = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))


def words(name: str) -> set[str]:
    """The words of an identifier, whether in snake_case or CamelCase."""
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}


def identifiers(tree: ast.AST) -> list[tuple[int, str, bool]]:
    """(line, name, whether it is a function or called) of everything that has a name."""
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    partial = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and getattr(n.func, "id", "") == "partial"]
    called |= {id(node.args[0]) for node in partial}
    found = []
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found.append((line, node.name, True))
        elif isinstance(node, ast.ClassDef):
            found.append((line, node.name, False))
        elif isinstance(node, (ast.Name, ast.Attribute)):
            found.append((line, node.id if isinstance(node, ast.Name) else node.attr, id(node) in called))
        elif isinstance(node, (ast.arg, ast.keyword)) and node.arg:
            found.append((line, node.arg, False))
        elif isinstance(node, ast.alias):
            found += [(line, part, True) for part in (node.asname or node.name).split(".")]
    return found


def files(room: str) -> list[Path]:
    return sorted((PACKAGE / room).rglob("*.py"))


@pytest.mark.parametrize("room", ROOMS)
def test_identifiers_are_words_of_the_field(room):
    wrong = [
        f"{path.relative_to(PACKAGE)}:{line} {name}: say {WORDS[word]}"
        for path in files(room)
        for line, name, function in identifiers(ast.parse(path.read_text(encoding="utf-8")))
        for word in words(name) & WORDS.keys()
        if name not in FOREIGN and not (word == "place" and function)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("room", ROOMS)
def test_docstrings_are_sentences_that_begin_with_their_subject(room):
    wrong = [
        f"{path.relative_to(PACKAGE)}:{getattr(node, 'lineno', 1)} {text.splitlines()[0]}"
        for path in files(room)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        if (text := ast.get_docstring(node)) and OPENINGS.match(text)
    ]
    assert not wrong, "\n".join(wrong)


def test_the_guard_sees_words_in_every_kind_of_name():
    source = "class Told: pass\ndef f(turn): way = x.kept\ndef place(): pass\nplace()\nplace = 1\n"
    seen = {name for _, name, function in identifiers(ast.parse(source)) if words(name) & WORDS.keys() and not function}
    assert seen == {"Told", "turn", "way", "kept", "place"}
