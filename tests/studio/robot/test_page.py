"""The robot tab in a page: a chain, its sliders, a dragged target, two methods, motors, a library, a robot."""

import io
from pathlib import Path

import numpy as np

from posable.studio import Session
from posable.studio.tabs.robot.chain import chain_size
from posable.studio.tabs.robot.tab import BOTH, NAMES, NONE, RobotTab
from posable.studio.tabs.robot.target import MOVE

from ..window import PICTURES, RENEW, SIZE, Window, choose, differing, drag_arrow, settled, wait
from .test_robot import ROBOT

PICTURE = PICTURES / "studio-robot.png"


def at_rest(tab: RobotTab, session: Session) -> None:
    def still() -> bool:
        runners = tab.runners  # none while kernels compile
        return "express" not in session.animating and bool(runners) and runners[0].solution is not None

    wait(still, "the chains to stand still")


def test_a_chain_is_chosen_posed_and_follows_the_dragged_target(window: Window, tab: RobotTab, session: Session):
    page = window.page
    choose(window, "Chain", NONE)
    wait(lambda: tab.chain is None, "the chain to go")
    bodies = settled(window)
    choose(window, "Chain", "C")
    wait(lambda: tab.chain is not None and any(name.endswith("/erik") for name in window.nodes()), "the chains")
    at_rest(tab, session)
    page.get_by_text("On target").first.wait_for()
    shown = settled(window)
    assert differing(bodies, shown) > 0.02
    field = window.field("joint2 [°]", "input:not([type=hidden])").first
    field.fill("70")
    field.blur()
    wait(lambda: tab.sliders.values[1] > 0.9, "the slider")
    at_rest(tab, session)
    assert differing(shown, settled(window)) > 0.005, "posture and answers have moved"
    handle, before, tips = session.gizmos[MOVE], tab.target.position, tab.runners[0].angles
    drag_arrow(window, np.array(handle.position) + session.stage.offset, float(handle.scale))
    wait(lambda: session.history.undoable == "Move the target", "the drag to end")
    at_rest(tab, session)
    assert tab.target.position[1] > before[1] + 0.02 and np.abs(tab.runners[0].angles - tips).max() > 0.01
    session.undo()
    wait(lambda: np.allclose(tab.target.position, before), "the target to go back")


def test_methods_motors_and_postures_are_used_on_the_page(
    window: Window, tab: RobotTab, session: Session, tmp_path: Path
):
    page = window.page
    page.locator(".uplot canvas").first.wait_for()  # from here on nothing of the panel moves by itself
    at_rest(tab, session)
    choose(window, "Solved by", NAMES["erik"])
    wait(lambda: [runner.method for runner in tab.runners] == ["erik"], "one method")
    choose(window, "Solved by", NAMES[BOTH])
    wait(lambda: len(tab.runners) == 2, "two methods")
    choose(window, "Posture", "curious")
    wait(lambda: session.history.undoable == "Recall curious", "the posture")
    page.get_by_text("Library of postures").click()
    window.press("Store the posture")
    wait(lambda: tab.postures.offered[-1] == "mine", "the posture to be stored")
    field = window.field("Library file").first
    field.fill(str(tmp_path / "p.json"))
    field.blur()
    window.press("Save the library")
    wait((tmp_path / "p.json").exists, "the file")
    page.get_by_text("Library of postures").click()
    window.field("Target orbits").first.click()
    page.get_by_text("Motors", exact=True).click()
    window.field("Through a filter").first.click()
    wait(lambda: len(tab._motor_plot.samples) > 5, "the motor's plot")
    wait(lambda: page.locator(".uplot canvas").count() == 2, "both plots")
    page.get_by_text("Motors", exact=True).click()
    window.field("Target orbits").first.click()
    at_rest(tab, session)
    if RENEW:
        renew_picture(window, tab, session)


def test_a_robot_is_loaded_on_the_page(window: Window, tab: RobotTab, session: Session, tmp_path: Path):
    (tmp_path / "lamp.urdf").write_text(ROBOT)
    window.page.get_by_text("Robot from a file").click()
    field = window.field("Robot file").first
    field.fill(str(tmp_path / "lamp.urdf"))
    field.blur()
    window.press("Load the robot")
    wait(lambda: tab.chain is not None and tab.chain.names == ("pan", "nod", "roll"), "the robot")
    window.page.get_by_text("nod [°]").wait_for()
    at_rest(tab, session)
    window.page.get_by_text("Robot from a file").click()


def renew_picture(window: Window, tab: RobotTab, session: Session) -> None:
    """The picture of docs/studio.md: a posture and both methods, with the plots."""
    window.forget_messages()
    from PIL import Image

    with session.lock:  # wherever the target was when its orbit ended
        tab.target.set(chain_size(tab.chain) * np.array([0.1, 1.15, 0.35]))
        session.animating.add("express")
    at_rest(tab, session)
    session.stage.shadows = True
    window.page.set_viewport_size({"width": 1280, "height": 800})
    session.stage.frame(session.shown)
    window.page.get_by_role("tab", name="Robot").scroll_into_view_if_needed()
    window.page.mouse.move(500, 30)
    window.dismiss()
    window.page.wait_for_timeout(6000)
    Image.open(io.BytesIO(window.page.screenshot())).convert("RGB").save(PICTURE, optimize=True)
    session.stage.shadows = False
    window.page.set_viewport_size(SIZE)
    session.stage.frame(session.shown)
