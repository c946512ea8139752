"""The folder Hands in a page: a figure with fingers from the tab Play, shapes, grips, a hand that closes."""

import io
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import posable as ps
import posable.math as pm
from posable.studio import Session
from posable.studio.tabs.pose.options import LIMB, WHOLE
from posable.studio.view.obstacle import NAME, NOTHING

from ..desk import Desk
from ..window import PICTURES, RENEW, SIZE, Window, choose, differing, settled, wait

PICTURE = PICTURES / "studio-hands.png"
NAMED = ("open", "fist", "point", "pinch")


@pytest.fixture
def answer() -> str:
    return LIMB


@pytest.fixture
def fingered(window: Window, tab: Desk, session: Session) -> Iterator[Session]:
    """The walk with fingers, opened in the page as somebody does."""
    page = window.page
    page.get_by_role("tab", name="Play").click()
    window.field("Keep the others").first.click()
    window.field("With fingers").first.click()
    before = session.active
    choose(window, "Built-in", "walk")
    wait(lambda: session.active is not before and session.body.fingers, "the walk with fingers")
    window.field("With fingers").first.click()
    window.field("Keep the others").first.click()
    page.get_by_role("tab", name="Pose").click()
    session.clock.pause()
    session.clock.seek(0.5)
    wait(lambda: session.tab == "Pose" and session.edits.editor is not None, "the editor")
    page.get_by_text("Hands", exact=True).first.click()
    wait(lambda: window.field("Shape").first.is_visible(), "the folder")
    yield session
    page.get_by_text("Hands", exact=True).first.click()
    tab.obstacle.choose(NOTHING)


def hand(session: Session, side: str = "left") -> np.ndarray:
    return ps.HandShape.of(session.body, session.active.pose(session.time), side).rotations


def look_at_the_hand(window: Window, session: Session, distance: float = 0.55, back: float = -0.55) -> None:
    """The camera before the left thumb, a little on the side of the palm, or of its back."""
    frames = session.active.frames(session.time)
    body, joint = session.body, session.body.index("left_hand")
    turn = body.canonical_orientation(frames, joint)
    centre = frames.positions[joint] + pm.rotate(turn, [-0.01, -0.09, 0.0]) + session.stage.offset
    camera = window.client.camera
    camera.position = tuple(centre + pm.rotate(turn, distance * np.array([back, -0.05, 0.83])))
    camera.look_at = tuple(centre)


def shot(window: Window, name: str) -> None:
    """A picture to look at, where POSABLE_SHOTS says."""
    if folder := os.environ.get("POSABLE_SHOTS"):
        from PIL import Image

        window.page.wait_for_timeout(1500)
        Image.open(io.BytesIO(window.page.screenshot())).convert("RGB").save(Path(folder) / f"{name}.png")


def press_shape(window: Window, session: Session, name: str) -> None:
    before = session.motion
    choose(window, "Shape", name)
    window.press("Shape the hand")
    wait(lambda: session.motion is not before, f"the {name}")
    assert session.history.undoable == f"the left hand: {name}"


def test_shapes_of_a_hand_are_chosen_blended_and_undone_in_the_page(window: Window, tab: Desk, fingered: Session):
    session, seen = fingered, {}
    choose(window, "Hand", "left")
    look_at_the_hand(window, session)
    for name in NAMED:
        press_shape(window, session, name)
        shape = ps.HandShape.named(name).rotations
        assert pm.angle(hand(session), shape).max() < 2e-2, name  # what limits take off a thumb
        seen[name] = settled(window)
        shot(window, name)
    for one, other in (("open", "fist"), ("fist", "point"), ("point", "pinch")):
        assert differing(seen[one], seen[other]) > 2e-3, (one, other)
    press_shape(window, session, "flat")
    tab.pose.hands.weight.value = 0.5
    press_shape(window, session, "fist")
    tab.pose.hands.weight.value = 1.0
    half = ps.HandShape.named("flat").blend("fist", 0.5).rotations
    assert pm.angle(hand(session), half).max() < 2e-2
    shot(window, "half a fist")
    for _ in range(6):
        window.press("Undo")
    wait(lambda: not session.edits.entries, "everything undone")


def test_a_grip_of_a_radius_and_a_hand_that_closes_on_the_obstacle(window: Window, tab: Desk, fingered: Session):
    session, hands = fingered, tab.pose.hands
    choose(window, "Hand", "left")
    assert window.page.get_by_role("button", name="Close on the obstacle").is_disabled()
    for kind in ("cylinder", "ball"):
        hands.radius.value = 2.5
        press_shape(window, session, f"around a {kind}")
        expected = ps.HandShape.grip(session.body, 0.025, kind).rotations
        assert pm.angle(hand(session), expected).max() < 2e-2
        look_at_the_hand(window, session)
        settled(window)
        shot(window, f"grip {kind}")
    frames, wrist = session.active.frames(session.time), session.body.index("left_hand")
    turn = session.body.canonical_orientation(frames, wrist)
    tab.obstacle.choose("capsule")
    radius = float(tab.obstacle.scene[NAME].sizes[0])
    across = pm.multiply(turn, pm.axis_angle([1.0, 0.0, 0.0], np.pi / 2))
    tab.obstacle.move(frames.positions[wrist] + pm.rotate(turn, [-0.019 - radius, -0.085, 0.0]), across)
    tab.obstacle.drop()
    window.press("Close on the obstacle")
    wait(lambda: session.history.undoable == "Close the left hand on the obstacle", "the hand to close")
    window.page.get_by_text("fingers touch").first.wait_for()
    look_at_the_hand(window, session)
    settled(window)
    shot(window, "closed")
    if RENEW:
        renew(window, session)
    assert PICTURE.exists() and PICTURE.stat().st_size < 500_000


def test_a_hand_keeps_its_shape_while_it_is_dragged(window: Window, tab: Desk, fingered: Session):
    """The limb alone, and the whole body in a style: the reach goes on with the fingers that were there."""
    session = fingered
    choose(window, "Hand", "left")
    press_shape(window, session, "point")
    pointing = hand(session)
    for answer in (LIMB, WHOLE):
        tab.pose.answer_by(answer)
        tab.choose("left_hand")
        tab.update(session.time)
        tab.drag(np.array(session.gizmos["pose"].position) + np.array([0.02, 0.25, 0.2]))
        assert pm.angle(hand(session), pointing).max() < 1e-6, answer
        tab.drop()
        wait(lambda: session.history.undoable == "Drag the left hand", "the drag to end")
        assert pm.angle(hand(session), pointing).max() < 1e-6, answer
        look_at_the_hand(window, session)
        settled(window)
        shot(window, f"reach {answer}")


def renew(window: Window, session: Session) -> None:
    """The picture of docs/hands.md."""
    from PIL import Image

    window.forget_messages()
    window.page.set_viewport_size({"width": 1280, "height": 800})
    session.stage.shadows = True
    look_at_the_hand(window, session, 0.7, 1.1)
    settled(window)
    window.dismiss()
    window.page.wait_for_timeout(4000)
    Image.open(io.BytesIO(window.page.screenshot())).convert("RGB").save(PICTURE, optimize=True)
    window.page.set_viewport_size(SIZE)
    session.stage.shadows = False
