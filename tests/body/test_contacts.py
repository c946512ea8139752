"""When feet stand."""

import numpy as np
import pytest

import posable as ps
from posable.body.contacts import FootContacts, foot_contacts


def test_feet_of_a_walk_stand_when_they_do_not_move():
    body = ps.figure()
    walk = ps.samples.walk(body)
    ankles = body.markers(walk.pose)[:, 4:]
    told = foot_contacts(ankles, walk.fps, body.leg_length)
    speed = np.linalg.norm(np.diff(ankles, axis=0), axis=-1) * walk.fps
    assert 0.3 < told.mean() < 0.7 and told.any(axis=1)[5:].mean() > 0.9
    assert speed[told[1:]].max() < 1.0 and not told[1:][speed > 1.2].any()


def test_size_does_not_matter():
    small, tall = ps.figure(0.5), ps.figure(2.5)
    told = [
        foot_contacts(body.markers(ps.samples.walk(body).pose)[:, 4:] * scale, 60.0, body.leg_length * scale)
        for body, scale in ((small, 1.0), (small, 5.0))
    ]
    np.testing.assert_array_equal(*told)
    assert foot_contacts(tall.markers(ps.samples.walk(tall).pose)[:, 4:], 60.0, tall.leg_length).any()


def test_a_lost_foot_does_not_stand_and_the_other_is_not_disturbed():
    contacts = FootContacts(0.8)
    ankles = np.array([[0.1, 0.08, 0.0], [-0.1, 0.08, 0.0]])
    for _ in range(10):
        assert contacts.step(ankles, 1 / 60).all()
    gone = ankles.copy()
    gone[0] = np.nan
    assert contacts.step(gone, 1 / 60).tolist() == [False, True]
    for _ in range(3):
        told = contacts.step(ankles, 1 / 60)
    assert told.all()


def test_wrong_calls_say_what_is_wrong():
    with pytest.raises(ps.PosableError, match="leg_length"):
        FootContacts(0.0)
    with pytest.raises(ps.ShapeError, match=r"\(2, 3\)"):
        FootContacts(1.0).step(np.zeros((3, 3)), 0.1)
    with pytest.raises(ps.ShapeError, match="feet, 3"):
        foot_contacts(np.zeros((3, 3)), 60.0, 1.0)
