"""A studio without a page, for the tests of its tabs."""

from collections.abc import Iterator

import pytest

from posable.studio.app import Studio
from posable.studio.session import Session


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
