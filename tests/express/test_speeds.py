"""The speeds that a robot's file allows its motors."""

from pathlib import Path

import numpy as np
import pytest

import posable as ps

MIMIC = """<robot name="hand">
<link name="a"/><link name="b"/><link name="c"/>
<joint name="one" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/>
  <limit lower="-2" upper="2" velocity="3"/></joint>
<joint name="two" type="revolute"><parent link="b"/><child link="c"/><origin xyz="0 0.1 0"/><axis xyz="0 1 0"/>
  <limit lower="-2" upper="2" velocity="SPEED"/><mimic joint="one" multiplier="-2"/></joint>
</robot>"""


@pytest.mark.parametrize(("speed", "allowed"), [("1", 0.5), ("100", 3.0), ("0", 3.0)])
def test_a_joint_that_follows_bounds_the_motor_that_moves_it(tmp_path: Path, speed: str, allowed: float):
    path = tmp_path / "hand.urdf"
    path.write_text(MIMIC.replace("SPEED", speed))
    assert ps.Chain.from_robot(path, tip="c").speeds.tolist() == [allowed]


def test_a_chain_without_a_file_has_no_speed_limits_and_changes_nothing():
    chain = ps.Chain.from_axes("YXXZY")
    angles = np.random.default_rng([1, 2]).uniform(-1, 1, (20, 5))
    assert np.isinf(chain.speeds).all()
    np.testing.assert_array_equal(chain.within_speeds(angles, 60.0), angles)


def test_no_value_is_faster_than_its_speed_and_one_that_can_keep_up_does(data_dir: Path):
    chain = ps.Chain.from_robot(data_dir / "robots" / "ur5.urdf")
    slow = 0.3 * np.sin(np.arange(90)[:, None] / 30.0 + np.arange(len(chain)))
    np.testing.assert_array_equal(chain.within_speeds(slow, 60.0), slow)
    jump = slow.copy()
    jump[30:] += 1.0
    kept = chain.within_speeds(jump, 60.0)
    assert (60.0 * np.abs(np.diff(kept, axis=0)) <= chain.speeds * (1 + 1e-12)).all()
    np.testing.assert_array_equal(kept[-1], jump[-1])
    np.testing.assert_array_equal(kept[0], jump[0])


@pytest.mark.parametrize("speeds", [[1.0], [1.0, 0.0], [1.0, -1.0], [1.0, np.nan]])
def test_speeds_that_cannot_be_are_refused(speeds):
    chain = ps.Chain.from_axes("YX")
    with pytest.raises(ps.PosableError, match="speeds are"):
        ps.Chain(chain.skeleton, chain.links, chain.limits, tip=1, pointing=(0, 1, 0), names=chain.names, speeds=speeds)
