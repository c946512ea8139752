"""Motions on other characters, files that keep what is there, animations of a character, sizes side by side."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import posable as ps
from posable.body.roles.matching import parse_roles
from posable.compute import PosableError
from posable.edit import retarget
from posable.formats import load, save
from posable.studio import Session
from posable.studio.tabs.motion.retargeting import NOBODY
from posable.studio.tabs.play import PlayTab
from posable.studio.widgets.file_panel import suggested_file

from ..desk import Desk
from ..window import wait

KNIGHT = "KayKit_Knight.glb"


@pytest.fixture
def answer() -> str:
    return "Limb alone"


def play_of(tab: Desk) -> PlayTab:
    return next(one for one in tab.studio.tabs if isinstance(one, PlayTab))


def test_a_motion_is_put_on_a_character_by_one_button(tab: Desk, session: Session, data_dir: Path):
    walk = session.active
    tab.show("Motion")
    assert tab.retargeting.choice.options == (NOBODY,) and tab.retargeting._button.disabled
    with pytest.raises(PosableError, match="open a character"):
        tab.retargeting.put()
    knight = session.open(data_dir / "characters" / KNIGHT)
    assert session.actors == (walk, knight), "the others stay open"
    session.activate(walk)
    tab.update(session.time)
    assert tab.retargeting.choice.options == (knight.name,) and not tab.retargeting._button.disabled
    tab.retargeting.put()
    wait(lambda: not tab.retargeting.running, "the retargeted motion")
    tab.update(session.time)
    assert session.active is not walk and session.active.name == knight.name and session.actors[0] is walk
    expected = retarget(walk.motion, walk.body, knight.body)
    assert np.allclose(session.motion.pose.rotations, expected.motion.pose.rotations, atol=1e-9)
    assert session.motion.skeleton.character is knight.motion.skeleton.character, "in its own skin"
    assert "frames reach everything" in tab.retargeting._report.text.content
    assert session.undo().startswith("Put walk on") and session.actors == (walk, knight)
    tab.update(session.time)
    assert tab.retargeting._report.text.content == "", "a report goes with what it is about"
    session.clock.pause()


class Sender:
    """A window that looks straight ahead at a point, and sends the files that are dropped in the middle of it."""

    def __init__(self, session: Session, point: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
        position = point + session.stage.offset + np.array([0.0, 0.0, 3.0])
        self.camera = SimpleNamespace(position=position, wxyz=(0.0, 1.0, 0.0, 0.0), fov=0.8, aspect=1.6)
        self.client_id, self.told = 7, []
        monkeypatch.setattr(session.page, "show", lambda topic, value, client=None: self.told.append((topic, client)))

    def drop(self, tab: Desk, where: Any, *paths: Path) -> None:
        drop = play_of(tab)._drop
        drop.drop(self, where)
        for path in paths:
            sent = SimpleNamespace(name=path.name, content=path.read_bytes())
            drop._received(SimpleNamespace(target=SimpleNamespace(value=sent), client_id=self.client_id, client=self))


def test_a_motion_file_dropped_on_a_body_is_performed_by_it_and_elsewhere_opened(
    tab: Desk, session: Session, data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    body = ps.figure(height=1.6)
    motion = ps.samples.boxing(body)[:30]
    file, bad = tmp_path / "box.npz", tmp_path / "bad.bvh"
    save(motion, file)
    bad.write_text("HIERARCHY")
    walk = session.active
    knight = session.open(data_dir / "characters" / KNIGHT)
    hips = knight.frames(session.time).positions[knight.body.index("hips")]
    window = Sender(session, hips, monkeypatch)
    window.drop(tab, (0.5, 0.5), bad, file)
    wait(lambda: not tab.retargeting.running, "the retargeted motion")
    assert [topic for topic, to in window.told if to is window].count("take") == 3, "one after the other, errors too"
    assert session.actors[0] is walk and len(session.actors) == 2 and session.active is session.actors[1]
    expected = retarget(load(file), ps.Humanoid(load(file).skeleton), knight.body)
    assert np.allclose(session.motion.pose.rotations, expected.motion.pose.rotations, atol=1e-9)
    assert session.undo() == f"Put box on {knight.name}" and session.actors == (walk, knight)
    session.clock.pause()
    session.clock.seek(0.5)
    above = Sender(session, hips + np.array([0.0, 50.0, 0.0]), monkeypatch)
    for sender, where in ((above, (0.5, 0.5)), (window, None)):  # beside the bodies, and beside the stage
        sender.drop(tab, where, file)
        assert len(session.actors) == 3 and session.active.name == "box" and session.undo() == "Open box"
        session.clock.pause()
        session.clock.seek(0.5)
    hips = knight.frames(session.time).positions[knight.body.index("hips")]
    Sender(session, hips, monkeypatch).drop(tab, (0.5, 0.5), data_dir / "characters" / "CesiumMan.glb")
    assert session.active.name == "CesiumMan" and len(session.actors) == 3, "a character is not put on another"
    session.clock.pause()
    for where in ("here", (1.0,), (float("nan"), 0.0), {"x": 1}):
        with pytest.raises(PosableError, match="fractions of the stage"):
            play_of(tab)._drop.drop(window, where)


def test_parts_that_names_do_not_tell_are_named_for_these_files_and_later_ones(
    tab: Desk, session: Session, tmp_path: Path
):
    body = ps.figure()
    names = [f"bone{k}" for k in range(len(body.skeleton))]
    own = body.skeleton
    kinds = {"kinds": own.kinds, "axes": own.axes, "rest_rotations": own.rest_rotations}
    ends = {"end_parents": own.end_parents, "end_offsets": own.end_offsets}
    odd = ps.Skeleton(names, own.parents, own.offsets, **kinds, **ends)
    motion = ps.samples.walk(body)[:20]
    save(motion.replace(skeleton=odd), tmp_path / "odd.npz")
    nobody = session.open(tmp_path / "odd.npz")
    assert nobody.body is None
    play = play_of(tab)
    play._roles.value = ", ".join(f"{role.replace('_', ' ')}=bone{joint}" for role, joint in body.roles.items())
    with pytest.raises(PosableError, match="did you mean"):
        session.name_parts({"left_hnd": "bone3"})
    session.name_parts(parse_roles(play._roles.value))
    assert session.body is not None and session.body.roles == body.roles and session.active.name == "odd"
    assert session.undo() == "Name the parts of odd" and session.active is nobody
    again = session.open(tmp_path / "odd.npz")
    assert again.body is not None and again.body.roles == body.roles, "another file of this rig"
    assert again.scaled(0.5).body.roles == body.roles
    session.roles.clear()


def test_the_animations_of_a_character_are_listed_and_shown(tab: Desk, session: Session, data_dir: Path):
    path = data_dir / "characters" / KNIGHT
    knight = session.open(path)
    play = play_of(tab)
    names = play._animation.options
    assert play._animation.visible and len(names) == 76
    session.show_animation(names[5])
    expected = load(path, animation=names[5])
    assert session.motion.name == names[5] and len(session.motion) == len(expected)
    assert np.allclose(session.motion.pose.rotations, expected.pose.rotations)
    assert str(play._animation.value) == names[5] and session.active.name == knight.name
    assert session.undo() == f"Show {names[5]}" and session.active is knight
    session.close_actor(knight)
    assert not play._animation.visible


def test_saving_proposes_a_format_that_keeps_what_is_there(tab: Desk, session: Session, data_dir: Path):
    assert suggested_file("walk", session.motion) == "walk.bvh"
    knight = session.open(data_dir / "characters" / KNIGHT)
    assert suggested_file("knight", knight.motion) == "knight.glb"
    assert play_of(tab)._saving._field.value == f"{knight.name}.glb"
    vrm = load(sorted((data_dir / "characters").glob("*.vrm"))[0])
    assert suggested_file("ava", vrm).endswith(".vrm") == bool(vrm.skeleton.character.roles)


def test_bodies_of_other_sizes_are_matched_with_their_motions_and_named(tab: Desk, session: Session, data_dir: Path):
    walk = session.active
    with pytest.raises(PosableError, match="one body"):
        session.match_sizes()
    knight = session.open(data_dir / "characters" / KNIGHT)
    session.activate(walk)
    session.match_sizes()
    tall, other = (float(np.ptp(actor.box[:, 1])) for actor in session.actors)
    assert other == pytest.approx(tall, rel=0.02) and session.active is walk
    factor = other / float(np.ptp(knight.box[:, 1]))
    was, now = (np.diff(one.frames(0.3).positions, axis=0) for one in (knight, session.actors[1]))
    assert np.allclose(now, factor * was, atol=1e-6 * factor)
    session.clock.seek(0.7 * session.clock.duration)
    session.draw(session.time)
    assert np.abs(session.stage.offset).max() > 0.3, "the ground glides below them"
    names = {label.text: label for label in session._names._labels if label.visible}
    assert set(names) == {walk.name, knight.name}
    for actor in session.actors:
        frames, character = actor.frames(session.time), actor.skeleton.character
        head = frames.positions[actor.body.index("head")]
        skins = [np.zeros((0, 3))] if character is None else [mesh.posed(frames) for mesh in character.meshes]
        over = np.concatenate([frames.positions, *skins])
        near = np.linalg.norm((over - head)[:, [0, 2]], axis=-1) < 0.15 * float(np.ptp(actor.box[:, 1]))
        label, seen = names[actor.name], actor.path_at(session.time) + session.stage.offset[[0, 2]]
        assert label.position[1] > over[near, 1].max(), "a name stands over its head, helmet and all"
        assert np.allclose(np.array(label.position)[[0, 2]], seen, atol=1e-3)
        assert not label.name.startswith("/world"), "where it is seen: what is below a node that moves lags behind"
    assert session.undo() == "Match the sizes" and session.actors == (walk, knight)
    session.close_actor(knight)
    session.draw(session.time)
    assert not any(label.visible for label in session._names._labels), "one alone needs no name"


def test_opening_keeps_the_others_unless_told(tab: Desk, session: Session):
    play = play_of(tab)
    assert play._keep.value
    play._sample.value = "run"
    play._open_sample(None)
    assert [actor.name for actor in session.actors] == ["walk", "run"]
    play._keep.value = False
    play._sample.value = "boxing"
    play._open_sample(None)
    assert [actor.name for actor in session.actors] == ["boxing"]
    play._keep.value = True
    session.clock.pause()
