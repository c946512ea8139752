"""A social robot that looks at a person sadly: whoever is tracked, its head follows, drooping.

    python social_robot.py                      # trackers by VMC at port 39540, angles as JSON lines to port 39551

The posture is an artist's, the aim is the person's head, and the filter lets no motor exceed its limits.
"""

import sys

import posable as ps

SAD = [0.0, 0.7, 0.8, 0.2, 0.0]  # [rad], a joint each


def main(source: object = "vmc", sink: str = "udp", seconds: float | None = None, realtime: bool = True) -> int:
    chain = ps.Chain.from_axes("YXXZY", lengths=[0.1, 0.3, 0.3, 0.2, 0.2], limits=(-1.5708, 1.5708))
    robot = ps.live.ChainDriver(chain, SAD, look_at="head", position=(0.0, 0.0, 2.0), rate=50, speed=3, acceleration=20)
    return ps.live.run(source, sink, robot=robot, seconds=seconds, realtime=realtime, show=print).sent


if __name__ == "__main__":
    print(main(*sys.argv[1:]), "bodies")
