"""The trackers tab on a short walk, without a page and in one; with a second method, whatever else there is."""

from collections.abc import Iterator

import pytest

from posable import samples
from posable.body import MARKERS, figure
from posable.evaluate import method_names
from posable.reconstruct import SequentialIK
from posable.studio import Studio
from posable.studio.tabs.trackers import tab as trackers
from posable.studio.tabs.trackers.tab import NONE, TrackersTab

from ..window import wait

FREE = f"{__name__}:WithoutLimits"


class WithoutLimits(SequentialIK):
    """A method of somebody's own."""

    def __init__(self, body, weights=(1.0, 1.0, 0.0)) -> None:
        super().__init__(body, weights=weights, limits=None)


def set_untracked(tab: TrackersTab, *roles: str, between: tuple[int, int]) -> None:
    """Make these points untracked and no others, between two moments in percent of the motion."""
    for role, box in zip(MARKERS, tab.points._boxes, strict=True):
        box.value = role in roles
    tab.points._when.receive(between)


@pytest.fixture(scope="module")
def studio() -> Iterator[Studio]:
    body = figure()
    WithoutLimits(body).track(body.markers(samples.walk(body).pose)[:2])  # compiles here, where nobody waits for it
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trackers, "method_names", lambda: (*method_names(), FREE))
        with Studio(port=0, open_browser=False) as running:
            running.session.clock.pause()
            running.session.stage.shadows = False
            yield running


@pytest.fixture
def tab(studio: Studio) -> Iterator[TrackersTab]:
    """The tab on sixty frames of a walk, with nothing reconstructed."""
    session = studio.session
    tab = next(tab for tab in studio.tabs if isinstance(tab, TrackersTab))
    session.open_sample("walk", keep=False)
    session.replace(session.motion[:60], "Cut")
    session.clock.pause()
    session.clock.seek(0.5)
    session.show_tab(tab.title)
    session.history.clear()
    tab.choose("sik")
    yield tab
    tab.show(NONE)
    set_untracked(tab, between=(40, 60))
    tab.update(session.time)
    wait(lambda: not tab.job.running, "the worker to rest")
