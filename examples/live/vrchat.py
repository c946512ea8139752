"""A VRChat set-up: six points in, VRChat's eight trackers out, with the knees and elbows that nobody wears.

    python vrchat.py [host]

Switch OSC on in VRChat (Action menu, Options, OSC) and calibrate there as with any full-body tracking.
"""

import sys

import posable as ps


def main(host: str = "127.0.0.1", seconds: float | None = None, port_in: int = 39540, port_out: int = 9000) -> int:
    live = ps.live.run(
        f"vmc://127.0.0.1:{port_in}", f"vrchat://{host}:{port_out}", rate=60, seconds=seconds, show=print
    )
    return live.sent


if __name__ == "__main__":
    print(main(*sys.argv[1:]), "bodies sent")
