"""Motions edited by dragging, warped, stretched and put on other bodies."""

import tempfile
from functools import cache
from pathlib import Path

import numpy as np

import posable as ps
from posable.edit import Contact, find_contacts, load_edits, make_edits, relative_motion, save_edits

from .. import readers
from ..calls import call
from ..inputs import body, child, sample

# Steps end at thresholds and each begins where the one before ended: see `compare`.
NEAR = 1e-5
WAYS = np.array([[0, 0.15, 0.1], [0.2, 0, 0], [-0.1, -0.2, 0.1], [0.0, 0.0, -0.3], [1.0, 1.0, 1.0], [np.nan, 0, 0]])


@cache
def _motion() -> ps.Motion:
    return sample("throw")[20:70]


@cache
def _weights() -> Path:
    """A file of the motion's weights, fitted once: every editor of the calls below reads it."""
    path = Path(tempfile.mkdtemp(prefix="posable-recorded-")) / "weights.npz"
    _ = ps.MotionEditor(_motion(), body(), cache=path).weights
    return path


def _editor(**options: object) -> ps.MotionEditor:
    """A new one, since editors have a memory."""
    return ps.MotionEditor(_motion(), body(), **{"cache": _weights(), **options})


def _place(part: str, frame: int) -> np.ndarray:
    return body().skeleton.forward(_motion()[frame]).positions[body().index(part)]


@call(within=NEAR)
def weights():
    found = {}
    for kind in ("window", "frame", "clip", "identity"):
        editor = ps.MotionEditor(_motion()[::4], body(), weights=kind, parts=("left_hand", "right_foot", "head"))
        found[kind] = {
            "weights": editor.weights,
            "residual": editor.report.residual,
            "identity": editor.report.identity,
        }
    whole = ps.MotionEditor(_motion(), body())
    other = ps.MotionEditor(_motion()[::4], body(), similar=[sample("boxing")[::12]])
    return {
        **found,
        "names": whole.dof_names,
        "whole": whole.weights,
        "similar": other.weights,
        "exact": [whole.exact_weights(frame) for frame in (5, 20)],
    }


@call(within=NEAR)
def dragged():
    found = {}
    for part in ("left_hand", "right_foot", "head", "hips"):
        found[part] = readers.drag(_editor().drag(frame=[10, 20, 25, 30, 40, 12], part=part, displacement=WAYS))
    return {**found, "one": readers.drag(_editor().drag(frame=15, part="l_elbow", target=_place("left_hand", 15)))}


@call(within=NEAR)
def dragged_with_options():
    editor = _editor()
    way = (0.05, 0.12, 0.1)
    first = editor.drag(frame=20, part="left_hand", displacement=way)
    on = editor.drag(frame=20, part="left_hand", displacement=(0.1, 0.0, 0.0), pose=first.pose)
    back = editor.drag(frame=20, part="left_hand", target=_place("left_hand", 20), pose=on.pose)
    free = _editor(limits=None)
    changed = _editor()
    changed.limits = "body"
    ranged = _editor(limits=("clip", ps.LimbRange.builtin("left_arm")))
    asked = {"frame": [10, 30], "part": "left_hand", "displacement": WAYS[:2]}
    return {
        "on": readers.drag(on),
        "back": readers.drag(back),
        "turned": readers.drag(editor.drag(**asked, orientation=[0.9, 0.1, 0.3, 0.2])),
        "pinned": readers.drag(editor.drag(**asked, pins=("head", "right_hand"))),
        "no_contacts": readers.drag(editor.drag(**asked, contacts=False)),
        "phase": readers.drag(editor.drag(**asked, mode="phase")),
        "steps": readers.drag(editor.drag(**asked, step=0.03, softness=(0.1, 0.3), max_ratio=1.2)),
        "free": readers.drag(free.drag(**asked)),
        "body": readers.drag(changed.drag(**asked)),
        "ranged": readers.drag(ranged.drag(**asked)),
        "human": readers.drag(_editor(limits=ps.Limits.human()).drag(**asked)),
    }


@call(within=NEAR)
def edits():
    editor = _editor()
    hand = _place("left_hand", 25)
    edit = editor.edit(frame=25, part="left_hand", target=np.add(hand, (0, 0.12, 0.08)), spread=0.4)
    found = {"edit": readers.edit(edit), "motion": editor.motion}
    lean = editor.edit(frame=30, part="head", displacement=(0.03, 0, 0), ease="smooth", frames=(22, 45))
    found |= {"lean": readers.edit(lean), "both": editor.motion}
    before = editor.snapshot
    edit.change(target=np.add(hand, (0, 0.1, 0.0)), spread=0.3, ease="linear")
    found |= {"changed": readers.edit(edit), "after_change": editor.motion}
    edit.remove()
    found |= {"after_remove": editor.motion, "left": len(editor.edits)}
    editor.restore(before)
    found["restored"] = editor.motion
    turned = editor.edit(
        frame=15, part="right_hand", displacement=(0.0, 0.05, 0.05), orientation=(0.9, 0.2, 0.3, 0.1), pins=("head",)
    )
    found |= {"turned": readers.edit(turned), "turn_residual": turned.orientation_error, "three": editor.motion}
    editor.clear()
    phase = editor.edit(frame=20, part="right_foot", displacement=(0.0, 0.1, 0.1), mode="phase", contacts=False)
    return {**found, "phase": readers.edit(phase), "phase_motion": editor.motion}


@call(within=NEAR)
def warped_and_stretched():
    editor = _editor()
    warp = editor.warp(
        [
            (12, "right_hand", np.add(_place("right_hand", 12), (0, 0.05, 0))),
            (30, "right_hand", np.add(_place("right_hand", 30), (0, 0, 0.05))),
            (30, "left_foot", np.add(_place("left_foot", 30), (0, 0.05, 0.0))),
        ],
        spread=0.3,
        contacts=False,
    )
    found = {"warp": readers.edit(warp), "motion": editor.motion}
    stretched = _editor()
    longer = stretched.stretch({"left_lower_arm": 1.3, "left_hand": 1.3}, frame=25, spread=0.2)
    found |= {"stretch": readers.edit(longer), "stretched": stretched.motion}
    shorter = stretched.stretch({"right_foot": 0.9}, frame=20, ease="linear", frames=(10, 40), contacts=False)
    return {**found, "shorter": readers.edit(shorter), "twice": stretched.motion}


@call(within=NEAR)
def contacts_found():
    motion = sample("walk")[:60]
    walk = ps.MotionEditor(motion, body(), weights="identity")
    own = ps.MotionEditor(motion, body(), weights="identity", contacts=[Contact("left_foot", "ground", 0, 30)])
    kept = own.edit(frame=15, part="left_hand", displacement=(0.0, 0.2, 0.2))
    return {
        "walk": readers.contacts(walk.contacts),
        "feet": readers.contacts(find_contacts(walk.clip, hands=False)),
        "throw": readers.contacts(_editor().contacts),
        "own": readers.contacts(own.contacts),
        "kept": readers.edit(kept),
        "motion": own.motion,
    }


@call(within=NEAR)
def lists_of_edits():
    editor = _editor()
    editor.edit(frame=20, part="right_hand", displacement=(0, 0.1, 0), frames=(10, 40))
    editor.stretch({"left_hand": 1.2}, frame=30)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "edits.json"
        save_edits(editor.edits, path)
        text, rows = path.read_text(encoding="utf-8"), load_edits(path)
    again = _editor()
    made = make_edits(again, rows)
    return {"text": text, "made": {str(k): readers.edit(one) for k, one in enumerate(made)}, "motion": again.motion}


@call()
def relative_motions():
    rng = np.random.default_rng(0)
    dragged, other, drag = rng.normal(size=(12, 3)), rng.normal(size=(12, 3)), rng.normal(size=(12, 3))
    dragged[3] = 0.0
    return {
        "usual": relative_motion(dragged, other, drag),
        "capped": relative_motion(dragged, other, drag, max_ratio=0.5),
    }


@call(within=NEAR)
def retargeted():
    motion = sample("dance")[30:60]
    return {
        "child": readers.retargeted(ps.retarget(motion, body(), child())),
        "options": readers.retargeted(
            ps.retarget(motion, body(), child(), contacts=False, weights="clip", limits=None, iterations=2)
        ),
        "edited": readers.retargeted(_editor().retarget(ps.figure(2.0), limits="body")),
    }


@call("cmu/124_01.bvh", within=NEAR)
def captured(path):
    motion = ps.load(path, repair="cmu", first_frame=1)[::2][110:150]
    editor = ps.MotionEditor(motion)
    answer = editor.drag(frame=[10, 20, 30], part="left_hand", displacement=WAYS[:3])
    edit = editor.edit(frame=20, part="left_hand", displacement=(0.0, 0.1, 0.1), spread=0.3)
    return {
        "weights": editor.weights,
        "drag": readers.drag(answer),
        "edit": readers.edit(edit),
        "motion": editor.motion,
        "contacts": readers.contacts(editor.contacts),
    }


@call("cmu/17_10.bvh", "characters/KayKit_Knight.glb", within=NEAR)
def retargeted_to_the_knight(clip, character):
    motion = ps.load(clip, repair="cmu", first_frame=1)[100:220:4]
    knight = ps.Humanoid(ps.load(character).skeleton)
    return readers.retargeted(ps.retarget(motion, ps.Humanoid(motion.skeleton), knight))


@call(within=NEAR)
def many_rows():
    """Enough rows to be shared between threads."""
    ways = np.random.default_rng(1).normal(size=(12, 3)) * 0.1
    return readers.drag(_editor().drag(frame=np.arange(12) * 4, part="left_hand", displacement=ways))
