"""Feet that stand and are locked, beside the same rule in plain NumPy, a frame at a time."""

import numpy as np
import pytest

import posable as ps
from posable.body.contacts import EVENED, FAST, HIGH, LOW, RISING, SLOW, FootContacts, foot_contacts
from posable.reconstruct.filtering import LET_GO, STRAYED, FootLock


class PlainFeet:
    """Contacts and locks of two feet by arrays."""

    def __init__(self, leg: float) -> None:
        self.leg = leg
        self.before, self.velocity, self.lowest = np.full((2, 3), np.nan), np.zeros((2, 3)), np.full(2, np.inf)
        self.standing, self.locked = np.zeros(2, bool), np.zeros(2, bool)
        self.positions, self.offsets, self.since = np.zeros((2, 3)), np.zeros((2, 3)), np.full(2, np.inf)

    def contacts(self, ankles, dt):
        seen, places = np.isfinite(ankles).all(axis=-1), ankles / self.leg
        known = seen & np.isfinite(self.before).all(axis=-1)
        new = np.where(known[:, None], (places - self.before) / dt, self.velocity)
        self.velocity = self.velocity + (new - self.velocity) * min(1.0, dt / EVENED)
        speed = np.linalg.norm(self.velocity, axis=-1)
        self.lowest = np.where(seen, np.minimum(self.lowest + RISING * dt, places[:, 1]), self.lowest)
        height = places[:, 1] - self.lowest
        begins, stays = (speed < SLOW) & (height < LOW), (speed < FAST) & (height < HIGH)
        self.standing = seen & np.where(self.standing, stays, begins)
        self.before = np.where(seen[:, None], places, self.before)
        return self.standing

    def lock(self, ankles, dt):
        standing = self.contacts(ankles, dt)
        self.since = self.since + dt
        t = np.minimum(self.since / LET_GO, 1.0)
        free = ankles + self.offsets * (1.0 - (10 * t**3 - 15 * t**4 + 6 * t**5))[:, None]
        holds = self.locked & standing & (np.linalg.norm(ankles - self.positions, axis=-1) < STRAYED * self.leg)
        begins = standing & ~self.locked
        self.positions = np.where(begins[:, None], free, self.positions)
        lets_go = self.locked & ~holds & np.isfinite(ankles).all(axis=-1)
        self.offsets = np.where(lets_go[:, None], self.positions - ankles, self.offsets)
        self.since = np.where(lets_go, 0.0, self.since)
        self.locked = holds | begins
        return np.where((self.locked | lets_go)[:, None], self.positions, free)


def tracked(seed: int, body: ps.Humanoid) -> np.ndarray:
    """Ankles (F, 2, 3) [m] of somebody who walks, dances or boxes: with noise, lost now and then."""
    draw = np.random.default_rng(seed)
    motion = (ps.samples.walk, ps.samples.dance, ps.samples.boxing)[seed % 3](body)
    points = body.markers(motion.pose)
    points = points + draw.normal(size=points.shape) * 0.003
    points[draw.random(points.shape[:2]) < 0.03] = np.nan
    points[draw.integers(len(points))] = np.nan
    return points


@pytest.mark.parametrize("seed", range(6))
def test_feet_are_locked_as_in_plain_arrays(seed):
    body = ps.figure(0.6 + 0.3 * seed)
    points, plain = tracked(seed, body), PlainFeet(body.leg_length)
    wanted = np.array([plain.lock(frame[4:], 1 / 60) for frame in points])
    found, lock = points.copy(), FootLock(ps.MARKERS, body.leg_length)
    lock.step(found[:40], 1 / 60)
    lock.step(found[40:], 1 / 60)  # the state goes on from one call to the next
    np.testing.assert_allclose(found[:, 4:], wanted, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(found[:, :4], points[:, :4])
    still = (np.diff(found[:, 4:], axis=0) == 0.0).all(axis=-1)
    assert still.mean() > 0.05  # it did lock


@pytest.mark.parametrize("seed", range(3))
def test_feet_stand_as_in_plain_arrays_whatever_the_steps(seed):
    body = ps.figure()
    ankles, plain, contacts = tracked(seed, body)[:, 4:], PlainFeet(body.leg_length), FootContacts(body.leg_length)
    steps = np.random.default_rng(seed).uniform(0.002, 0.1, len(ankles))
    for frame, dt in zip(ankles, steps, strict=True):
        np.testing.assert_array_equal(contacts.step(frame, dt), plain.contacts(frame, dt))
    again = PlainFeet(body.leg_length)
    np.testing.assert_array_equal(
        foot_contacts(ankles, 60.0, body.leg_length), [again.contacts(frame, 1 / 60) for frame in ankles]
    )


def test_an_ankle_beyond_the_world_is_lost_and_leaves_nothing_behind():
    body = ps.figure()
    lock, there = FootLock(ps.MARKERS, body.leg_length), body.markers(body.neutral_pose)[None].repeat(60, axis=0)
    points = there.copy()
    points[20:23, 4] = (np.inf, 1e300, -1e200)
    lock.step(points, 1 / 60)
    assert np.isfinite(points[23:]).all()
    np.testing.assert_array_equal(points[40:], there[40:])
