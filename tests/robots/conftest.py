"""The small robots of these tests, and a person who walks."""

import pytest

import posable as ps

from .robot_files import biped


@pytest.fixture(scope="session")
def robot(tmp_path_factory):
    """A robot with six joints a leg."""
    return biped(tmp_path_factory.mktemp("biped"))


@pytest.fixture(scope="session")
def edgy(tmp_path_factory):
    """A robot whose ankles do not roll."""
    return biped(tmp_path_factory.mktemp("edgy"), ankle_roll=False)


@pytest.fixture(scope="session")
def person():
    return ps.figure()


@pytest.fixture(scope="session")
def walk(person):
    return ps.samples.walk(person)
