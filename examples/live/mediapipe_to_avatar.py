"""MediaPipe to an avatar: a camera's landmarks, or a CSV of them, as a whole body by VMC.

    python mediapipe_to_avatar.py me.vrm                   # the camera; needs `pip install mediapipe`
    python mediapipe_to_avatar.py me.vrm landmarks.csv     # recorded landmarks

The camera was not run in our tests; the CSV is.
"""

import sys

import posable as ps


def main(model: str, source: str = "mediapipe", port_out: int = 39539, realtime: bool = True) -> int:
    live = ps.live.run(source, f"vmc://127.0.0.1:{port_out}", body=model, smoothing=0.06, realtime=realtime, show=print)
    return live.sent


if __name__ == "__main__":
    print(main(*sys.argv[1:]), "bodies sent")
