"""The tab Live in a page. POSABLE_UPDATE_PICTURES=1 renews the picture of the docs."""

from posable.studio import Session, Studio
from posable.studio.tabs.live.tab import LiveTab

from ..window import PICTURES, RENEW, Window, wait

PICTURE = PICTURES / "studio-live.png"


def test_a_loop_is_started_calibrated_and_stopped_by_hand(
    window: Window, tab: LiveTab, session: Session, trackers, tmp_path, browser, studio: Studio
):
    window.press("Start live")
    wait(lambda: tab.live is not None, f"the loop: {session.message}")
    wait(lambda: tab.live.sent > 60, f"bodies: {session.message}")
    window.page.get_by_text("bodies sent").first.wait_for()
    window.page.get_by_role("table").first.wait_for()
    if RENEW:
        large = Window(browser, studio, {"width": 1280, "height": 800})
        large.page.get_by_text("bodies sent").first.wait_for()
        large.dismiss()
        large.page.wait_for_timeout(2500)
        large.page.screenshot(path=PICTURE)
        large.context.close()
    window.press("Calibrate")
    window.page.get_by_text("stand still").first.wait_for()
    wait(lambda: tab.guest is not None and "/world/live/points" in window.nodes(), "the body on the stage")
    picture = tmp_path / "live.png"
    window.page.screenshot(path=picture)
    assert picture.stat().st_size > 10_000
    window.press("Stop live")
    wait(lambda: tab.live is None, "the end")
    window.page.get_by_text("Nothing runs.").first.wait_for()
