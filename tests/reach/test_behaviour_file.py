"""Behaviours in files: back to the last bit, and whatever is wrong with one is told with its place."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from posable import PosableError
from posable.compute import FormatError
from posable.limb.model import SEARCHES
from posable.limits import Ellipse
from posable.math import exp
from posable.reach import Behaviour, Posture, Weight, drivable_parts
from posable.reach.behaviour_file import MAX_BYTES

INTERPOLATIONS = ("linear", "smooth", "around")


def random_behaviour(seed: int, interpolation: str, count: int = 6) -> Behaviour:
    """Keys with postures, pending ones, searches and names; either arm."""
    rng = np.random.default_rng(seed)
    limb = ("right_arm", "left_arm")[seed % 2]
    parts = [part for part in drivable_parts(limb) if rng.uniform() < 0.6]
    kind = ("quadratic", "smooth", "constant")[seed % 3]
    made = Behaviour(
        limb, parts, interpolation=interpolation, weight=Weight(kind, float(rng.uniform(0.1, 1.0))), name="Wæw “x”\n\\"
    )

    def posture() -> Posture:
        turns = exp(rng.normal(size=(len(parts), 3))) if parts else np.zeros((0, 4))
        return Posture(parts, turns, rng.normal(size=3))

    for key in made.keys:
        made.set(key.id, posture())
    for row in range(count):
        at = (
            rng.normal(0.0, 0.6, 3)
            if interpolation == "around"
            else np.array(made.ellipse.centre) + rng.uniform(-0.7, 0.7, 2)
        )
        made.add(at, None if row == 1 else posture(), name=f"key {row}")
    made.remove(made.keys[-1].id)
    made.set_search(made.keys[-1].id, replace(SEARCHES["arm"], preferred=float(rng.normal()), refine=3))
    return made


def assert_same(a: Behaviour, b: Behaviour) -> None:
    assert (a.limb, a.parts, a.interpolation, a.weight, a.name) == (b.limb, b.parts, b.interpolation, b.weight, b.name)
    assert (a.ellipse.radii, a.ellipse.centre) == (b.ellipse.radii, b.ellipse.centre)
    assert len(a.keys) == len(b.keys)
    for one, other in zip(a.keys, b.keys, strict=True):
        assert (one.id, one.at, one.outer, one.search, one.name) == (
            other.id,
            other.at,
            other.outer,
            other.search,
            other.name,
        )
        assert (one.posture is None) == (other.posture is None)
        if one.posture is not None and other.posture is not None:
            assert one.posture.rotations.tobytes() == other.posture.rotations.tobytes()
            assert one.posture.hips.tobytes() == other.posture.hips.tobytes()


@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
@settings(max_examples=25)
@given(seed=st.integers(0, 10**6))
@example(seed=606)  # two keys next to each other: a smooth interpolation shifts the hips by 37 leg lengths
def test_a_behaviour_comes_back_to_the_last_bit(interpolation, seed, tmp_path_factory):
    path = tmp_path_factory.mktemp("behaviour") / "a.json"
    for made in (random_behaviour(seed, interpolation), random_behaviour(seed, interpolation).mirrored()):
        made.save(path)
        again = Behaviour.load(path)
        assert_same(made, again)
        text = path.read_bytes()
        again.save(path)
        assert path.read_bytes() == text
        asked = np.random.default_rng(seed).normal(0.0, 0.5, (20, 3 if interpolation == "around" else 2))
        assert made.posture_at(asked).rotations.tobytes() == again.posture_at(asked).rotations.tobytes()


@pytest.mark.parametrize("name", ["normal", "tired", "energetic"])
def test_the_examples_come_back_to_the_last_bit(name, tmp_path):
    for limb in ("right_arm", "left_arm"):
        made = Behaviour.example(name, limb)
        made.save(tmp_path / "a.json")
        assert_same(made, Behaviour.load(tmp_path / "a.json"))


def test_a_behaviour_without_parts_or_of_another_ellipse_comes_back(tmp_path):
    for made in (
        Behaviour("right_arm", ()),
        Behaviour("left_arm", ("hips",), ellipse=Ellipse((0.4, 0.3), (0.1, -0.2)), interpolation="smooth"),
    ):
        made.save(tmp_path / "a.json")
        assert_same(made, Behaviour.load(tmp_path / "a.json"))


def test_keys_go_on_being_numbered_after_loading(tmp_path):
    made = random_behaviour(1, "linear")
    made.save(tmp_path / "a.json")
    again = Behaviour.load(tmp_path / "a.json")
    fresh = again.add(again.ellipse.centre)
    assert fresh not in {key.id for key in made.keys}


def broken(tmp_path, change, interpolation: str = "linear", seed: int = 1):
    """A file of a random behaviour with its document changed; the error of loading it."""
    path = tmp_path / "broken.json"
    random_behaviour(seed, interpolation).save(path)
    document = json.loads(path.read_text(encoding="utf-8"))
    document = change(document) or document
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(FormatError) as caught:
        Behaviour.load(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


def put(*way_and_value):
    """A change: the value at a way of names and numbers."""
    *way, last, value = way_and_value

    def change(document):
        for step in way:
            document = document[step]
        document[last] = value

    return change


def drop(*way):
    def change(document):
        for step in way[:-1]:
            document = document[step]
        del document[way[-1]]

    return change


WRONG = {
    "the root is a list": (lambda d: [d], "Expected `object`"),
    "no format": (drop("format"), "format"),
    "another format": (put("format", "posable-range/1"), "format"),
    "no keys": (drop("keys"), "keys"),
    "keys are an object": (put("keys", {}), "keys"),
    "a word for a number": (put("keys", 5, "at", 0, "up"), r"keys\[5\]\.at\[0\]"),
    "one coordinate": (put("keys", 5, "at", [0.1]), r"keys\[5\]\.at"),
    "three coordinates on the plane": (put("keys", 6, "at", [0.1, 0.2, 0.3]), r"keys\[6\]"),
    "an outer key in space": (put("keys", 0, "at", [0.1, 0.2, 0.3]), r"keys\[0\]\.at"),
    "an outer key elsewhere": (put("keys", 2, "at", [0.1, 0.2]), r"keys\[2\]\.at"),
    "no rotations of an outer key": (put("keys", 3, "rotations", None), r"keys\[3\]"),
    "three outer keys": (drop("keys", 1), "3 outer keys"),
    "a key outside the ellipse": (put("keys", 5, "at", [3.0, 0.0]), r"keys\[5\].*outside"),
    "a key a universe away": (put("keys", 5, "at", [1e300, -1e300]), r"keys\[5\]"),
    "a number too large": (put("weight", "k", 10**400), "weight"),
    "hips far away": (put("keys", 4, "hips", [0.0, 1e9, 0.0]), r"keys\[4\]"),
    "two hips": (put("keys", 4, "hips", [0.0, 1.0]), r"keys\[4\]\.hips"),
    "the same id twice": (put("keys", 5, "id", 4), r"keys\[5\].*twice"),
    "a negative id": (put("keys", 5, "id", -1), r"keys\[5\]\.id"),
    "half an id": (put("keys", 5, "id", 0.5), r"keys\[5\]\.id"),
    "an unknown arm": (put("limb", "right_leg"), "limb.*right_arm"),
    "an unknown interpolation": (put("interpolation", "cubic"), "interpolation.*smooth"),
    "an unknown part": (put("parts", ["hips", "tail"]), "parts.*tail"),
    "a part that legs have": (put("parts", ["hips", "left_foot"]), "parts.*left_foot"),
    "a part twice": (put("parts", ["hips", "hips"]), "parts"),
    "too many parts": (put("parts", ["hips"] * 1000), "parts"),
    "an unknown weight": (put("weight", "kind", "cubic"), "weight.*quadratic"),
    "a weight of 2": (put("weight", "k", 2.0), "weight"),
    "a flat ellipse": (put("ellipse", "radii", [0.0, 1.0]), "ellipse"),
    "a negative ellipse": (put("ellipse", "radii", [-1.0, 1.0]), "ellipse"),
    "a huge ellipse": (put("ellipse", "radii", [1e9, 1.0]), "ellipse"),
    "an ellipse aside": (put("ellipse", "centre", [0.0, 1e9]), "ellipse"),
    "a field nobody knows": (put("keys", 4, "colour", "red"), r"keys\[4\].*colour"),
    "a search that goes nowhere": (
        put("keys", 4, "search", {"preferred": 0, "low": 0, "high": 1, "step": 0, "growth": 0}),
        r"keys\[4\].*step",
    ),
    "a search inside out": (
        put("keys", 4, "search", {"preferred": 0, "low": 1, "high": 0, "step": 1, "growth": 0}),
        r"keys\[4\].*low",
    ),
    "a search without a step": (put("keys", 4, "search", {"preferred": 0.0}), r"keys\[4\]\.search"),
    "a refinement without end": (
        put("keys", 4, "search", {"preferred": 0, "low": 0, "high": 1, "step": 1, "growth": 0, "refine": 10**9}),
        r"keys\[4\]\.search\.refine",
    ),
    "a name as long as a book": (put("name", "x" * 100_000), "name"),
}


@pytest.mark.parametrize("which", WRONG)
def test_what_is_wrong_is_told_with_its_place(which, tmp_path):
    change, place = WRONG[which]
    message = broken(tmp_path, change)
    assert re.search(place, message), message
    assert len(message) < 2000


def test_wrong_rotations_are_told_with_their_key(tmp_path):
    def rotation(value):
        def change(document):
            part = next(iter(document["keys"][4]["rotations"]))
            document["keys"][4]["rotations"][part] = value

        return change

    for value in ([0, 0, 0, 0], [1e308] * 4, [1, 0, 0], ["w", 0, 0, 0], None, {"w": 1}):
        assert "keys[4]" in broken(tmp_path, rotation(value))

    def one_less(document):
        document["keys"][4]["rotations"].popitem()

    def one_more(document):
        document["keys"][4]["rotations"]["tail"] = [1, 0, 0, 0]

    assert "lack" in broken(tmp_path, one_less) and "tail" in broken(tmp_path, one_more)


def test_two_outer_keys_in_one_corner_are_an_error(tmp_path):
    def change(document):
        document["keys"][1]["at"] = document["keys"][0]["at"]

    assert "keys[1].at" in broken(tmp_path, change)


def test_keys_in_one_place_are_an_error(tmp_path):
    def change(document):
        document["keys"][6]["at"] = document["keys"][5]["at"]

    for interpolation in ("smooth", "around"):
        assert "keys[" in broken(
            tmp_path, change if interpolation == "smooth" else put("keys", 1, "at", [0, 0, 99]), interpolation
        )
    assert "keys[6]" in broken(tmp_path, change)


def test_outer_keys_around_the_shoulder_are_an_error(tmp_path):
    assert "outer" in broken(tmp_path, put("keys", 0, "outer", True), "around")


def test_too_many_keys_are_an_error(tmp_path):
    def change(document):
        key = document["keys"][-1]
        document["keys"] += [dict(key, id=1000 + row) for row in range(600)]

    assert "keys" in broken(tmp_path, change)


def load_bytes(tmp_path, content: bytes) -> str:
    path = tmp_path / "bytes.json"
    path.write_bytes(content)
    with pytest.raises(FormatError) as caught:
        Behaviour.load(path)
    return str(caught.value)


def test_what_is_no_json_is_an_error_that_names_the_file(tmp_path):
    whole = tmp_path / "whole.json"
    random_behaviour(3, "smooth").save(whole)
    text = whole.read_bytes()
    for content in (
        b"",
        b"\x00" * 100,
        b"\xff\xfe{}",
        b"null",
        b"[" * 200_000,
        b'{"keys": ' * 100_000,
        text[: len(text) // 2],
        text + b"{",
        text.replace(b"0.", b"NaN", 1),
        text.replace(b"smooth", b"sm\xffooth", 1),
    ):
        assert "bytes.json" in load_bytes(tmp_path, content)


def test_a_file_cut_anywhere_is_an_error_and_never_half_a_behaviour(tmp_path):
    whole = tmp_path / "whole.json"
    random_behaviour(5, "linear", 3).save(whole)
    text = whole.read_bytes().rstrip()
    for end in range(0, len(text), max(1, len(text) // 400)):
        load_bytes(tmp_path, text[:end])


@settings(max_examples=300)
@given(row=st.integers(0, 10**6), value=st.sampled_from([None, -1, 1e308, "x", [], {}, True, 2**70, [[]]]))
def test_any_value_anywhere_is_read_or_is_a_clear_error(row, value, tmp_path_factory):
    path = tmp_path_factory.mktemp("behaviour") / "a.json"
    random_behaviour(row % 7, INTERPOLATIONS[row % 3], 3).save(path)
    document = json.loads(path.read_text(encoding="utf-8"))
    spots = []

    def walk(node):
        for step in node if isinstance(node, dict) else range(len(node)):
            spots.append((node, step))
            if isinstance(node[step], dict | list):
                walk(node[step])

    walk(document)
    node, step = spots[row % len(spots)]
    node[step] = value
    path.write_text(json.dumps(document), encoding="utf-8")
    try:
        read = Behaviour.load(path)
    except FormatError:
        return
    size = 3 if read.interpolation == "around" else 2
    if any(key.posture for key in read.keys):
        assert np.isfinite(read.posture_at(np.zeros(size)).rotations).all()


def test_a_missing_file_a_folder_and_a_huge_file_are_errors(tmp_path):
    with pytest.raises(FormatError, match=r"nothing\.json"):
        Behaviour.load(tmp_path / "nothing.json")
    with pytest.raises(FormatError):
        Behaviour.load(tmp_path)
    huge = tmp_path / "huge.json"
    with huge.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(FormatError, match="bytes"):
        Behaviour.load(huge)


@pytest.mark.parametrize("name", ["x" * 1000, "\ud800"])
def test_what_could_not_be_read_back_is_not_written(name, tmp_path):
    path = tmp_path / "kept.json"
    random_behaviour(2, "linear").save(path)
    before = path.read_bytes()
    made = random_behaviour(4, "linear")
    made.name = name
    with pytest.raises(PosableError, match="read back"):
        made.save(path)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["kept.json"]


def test_nothing_half_written_stays_when_the_disk_fails(tmp_path, monkeypatch):
    path = tmp_path / "kept.json"
    random_behaviour(2, "linear").save(path)
    before = path.read_bytes()

    def full(self, *_, **__):
        self.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(path), "write_text", full)
    with pytest.raises((OSError, PosableError)):
        random_behaviour(4, "linear").save(path)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["kept.json"]
