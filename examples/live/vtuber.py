"""A VTuber set-up: trackers by VMC in, the whole body to an avatar program by VMC.

    python vtuber.py me.vrm calibration.json

Load the same model in the avatar program and let it listen at port 39539; send trackers (VirtualMotionCapture, SlimeVR,
an OpenVR bridge) to port 39540. The first time, calibrate: press the button in `posable live`, or send
/VMC/Ext/Set/Calib/Exec; the calibration is stored for the next time.
"""

import sys
from pathlib import Path

import posable as ps


def main(
    model: str, calibration: str, seconds: float | None = None, port_in: int = 39540, port_out: int = 39539
) -> int:
    stored = Path(calibration)
    live = ps.live.run(
        f"vmc://127.0.0.1:{port_in}",
        f"vmc://127.0.0.1:{port_out}",
        body=model,
        calibration=stored if stored.exists() else None,
        smoothing=0.02,
        rate=60,
        seconds=seconds,
        show=print,
    )
    if live.follower.calibration is not None:
        live.follower.calibration.save(stored)
    return live.sent


if __name__ == "__main__":
    print(main(*sys.argv[1:]), "bodies sent")
