"""A studio without a page, for the tests of its tabs."""

from collections.abc import Iterator

import pytest

from posable.studio.app import Studio
from posable.studio.core.session import Session

from .window import FEW, Window


@pytest.fixture(scope="module")
def studio() -> Iterator[Studio]:
    """Paused and without shadows, one a module: opening it takes seconds."""
    with Studio(port=0, open_browser=False) as running:
        running.session.clock.pause()
        running.session.stage.shadows = False
        yield running


@pytest.fixture
def session(studio: Studio) -> Session:
    return studio.session


@pytest.fixture(scope="module")
def opened(browser, studio: Studio, request: pytest.FixtureRequest) -> Iterator[Window]:
    """A page on the tab that the folder of the test is named after."""
    window = Window(browser, studio, resolution=FEW)
    window.page.get_by_role("tab", name=request.path.parent.name.capitalize(), exact=True).click()
    yield window
    window.context.close()


@pytest.fixture
def window(opened: Window, tab: object) -> Iterator[Window]:
    """The page with the tab as the folder's `tab` has it; whatever it logs as an error fails the test."""
    opened.dismiss()
    yield opened
    assert opened.errors == []
