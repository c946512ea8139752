"""Lists of edits: what is written comes back as the same motion, and a list that is wrong changes nothing."""

import json
import random

import numpy as np
import pytest

import posable as ps
from posable.edit.edit_list import load_edits, make_edits, save_edits


@pytest.fixture(scope="module")
def walk():
    body = ps.figure()
    return body, ps.samples.walk(body)[:60]


@pytest.fixture
def editor(walk):
    return ps.MotionEditor(walk[1], walk[0], weights="identity")


def listed(path, *rows):
    path.write_text(json.dumps({"posable": "edits", "version": 1, "edits": rows}))
    return path


def test_every_kind_of_edit_comes_back_to_the_last_bit(editor, walk, tmp_path):
    body, motion = walk
    hand = body.skeleton.forward(motion[20]).positions[body.index("right_hand")]
    joint = body.index("left_lower_arm")
    editor.edit(frame=30, part="left_hand", displacement=(0.01, 0.1, 1 / 3), frames=(25, 50), pins=("head",))
    editor.edit(frame=-20, part=joint, displacement=(0.0, 0.05, 0.0), pins=(body.index("head"),), ease="smooth")
    editor.warp([(20, body.index("right_hand"), hand + np.array([0.0, 0.05, 0.0])), (40, "head", hand)], spread=0.2)
    editor.stretch({body.index("left_hand"): np.float32(1.25)}, frame=np.int64(40), frames=(39, 59))
    save_edits(editor.edits, tmp_path / "edits.json")
    again = ps.MotionEditor(motion, body, weights="identity")
    made = make_edits(again, load_edits(tmp_path / "edits.json"))
    assert [type(edit) for edit in made] == [type(edit) for edit in editor.edits] and again.edits == tuple(made)
    assert made[0].settings["frames"] == (25, 50) and made[1].settings["part"] == "left_lower_arm"
    np.testing.assert_array_equal(again.motion.pose.rotations, editor.motion.pose.rotations)
    np.testing.assert_array_equal(again.motion.pose.offsets, editor.motion.pose.offsets)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"frame": 300, "part": "head", "displacement": [0, 0, 0]}, "frame 300 does not exist"),
        ({"frame": 3, "part": "tail", "displacement": [0, 0, 0]}, "'tail'"),
        ({"frame": 3, "part": "head", "displacement": [0, 0, 0], "pins": ["tail"]}, "'tail'"),
        ({"frame": 3, "part": "head", "displacement": [0, 0, 0], "frames": [4, 9]}, "4, 9"),
        ({"frame": 3, "part": "head", "displacement": [0, 0, 0], "frames": [0.5, 9]}, "0.5"),
        ({"frame": 3, "part": "head", "displacement": [0, 0, 0], "spread": 1e300}, "spread is 1e"),
        ({"frame": 3, "part": "head", "displacement": [0, 0, 0], "ease": "soft"}, "'soft'"),
        ({"frame": 3, "part": "head"}, "target or a displacement"),
        ({"warp": [{"frame": 3, "part": "head", "target": [0, 0, 0]}], "spread": 1e308}, "spread is 1e"),
        ({"warp": []}, "at least one"),
        ({"stretch": {"head": 1e9}, "frame": 3}, "1000000000"),
        ({"stretch": {"hips": 1.1}, "frame": 3}, "root"),
    ],
)
def test_a_list_that_cannot_be_made_makes_nothing_and_names_the_value(editor, tmp_path, row, message):
    editor.edit(frame=10, part="left_hand", displacement=(0.0, 0.05, 0.0))
    before, edits = editor.motion, editor.edits
    good = {"frame": 30, "part": "left_hand", "displacement": [0, 0.05, 0]}
    with pytest.raises(ps.PosableError, match=r"^edit 2 of the list: ") as error:
        make_edits(editor, load_edits(listed(tmp_path / "edits.json", good, row)))
    assert message in str(error.value) and editor.motion is before and editor.edits == edits


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty; expected a list of edits"),
        (" \n\t", "is empty; expected a list of edits"),
        ('{"posable": "edits", "ver', "ends too early; expected a list of edits"),
        ("frame,part\n1,head\n", "is no JSON"),
        ("[]", "expected a list of edits"),
        ('{"posable": "edits", "version": 2, "edits": []}', "is not a list of edits"),
        ('{"posable": "edits", "version": 1, "edits": [{"stretch": {"head": true}, "frame": 3}]}', "edits[0]"),
        ('{"posable": "edits", "version": 1, "edits": [{"frame": ' + "9" * 5000 + "}]}", "out of range"),
    ],
)
def test_a_file_that_is_not_a_list_is_refused_in_plain_words(tmp_path, text, message):
    file = tmp_path / "edits.json"
    file.write_text(text)
    with pytest.raises(ps.PosableError) as error:
        load_edits(file)
    assert message in str(error.value) and "edits.json" in str(error.value) and "truncated" not in str(error.value)


NASTY = (
    *(0, -1, 59, 60, 10**18, 10**30, 1e308, 1e-320, 0.5, None, True, "", "tail", "left_hand", [], {}, [None] * 3),
    *([1e308] * 3, [0, 0, 0, 0], [1e-200, 0, 0, 0], [10, 50], [50, 10], [30, 30], "phase", ["tail"], [3], {"head": 0}),
    [{"frame": 3, "part": None, "target": [0, 1, 0]}],
)


def test_whatever_a_list_says_it_is_made_or_refused_and_nothing_else(editor, tmp_path):
    draw = random.Random(7)
    forms = (
        {"frame": 30, "part": "left_hand", "displacement": [0, 0.05, 0]},
        {"warp": [{"frame": 3, "part": "head", "target": [0, 1.6, 0]}]},
        {"stretch": {"left_hand": 1.2}, "frame": 20},
    )
    names = ("frame", "part", "target", "displacement", "orientation", "spread", "ease", "frames", "pins", "contacts")
    made = 0
    for _ in range(1500):
        row = dict(draw.choice(forms))
        for _ in range(draw.randint(1, 2)):
            row[draw.choice([*row, *names, "mode"])] = draw.choice(NASTY)
        try:
            make_edits(editor, load_edits(listed(tmp_path / "edits.json", row)))
        except ps.PosableError:
            assert editor.edits == () and editor.motion is editor.original
        else:
            made += 1
            assert editor.motion.pose.is_finite()
            editor.clear()
    assert made > 30, "some of them are fine"


def test_a_list_with_the_mark_that_some_editors_of_text_write_is_read(tmp_path):
    file = listed(tmp_path / "edits.json", {"frame": 3, "part": "head", "displacement": [0, 0, 0]})
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    assert load_edits(file)[0]["frame"] == 3
    with pytest.raises(ps.PosableError, match="not a regular file"):
        load_edits("/dev/zero")
    file.write_bytes(b"")
    with pytest.raises(ps.PosableError, match="is empty"):
        load_edits(file)
