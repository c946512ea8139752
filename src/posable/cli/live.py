"""`posable live`: tracked points in, a body out, while somebody moves."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .ending import Ending, Summary, UsageError, length, listed, usage
from .output import at_terminal, on_one_line

if TYPE_CHECKING:
    from ..live import Live

MOST_FRAMES = 1000.0


def live(
    *,
    sources: Annotated[
        list[str] | None,
        typer.Option(
            "--in",
            metavar="SOURCE",
            help="Where points come from: vmc (when not given), vrchat, udp, each with ://host:port; mediapipe; "
            "a motion, a CSV of points or landmarks, a capture (.osc). Several times for several.",
        ),
    ] = None,
    sinks: Annotated[
        list[str] | None,
        typer.Option(
            "--out",
            metavar="SINK",
            help="Where bodies go: vmc (when not given), vmc-trackers, vrchat, udp, each with ://host:port; a .csv of "
            "a robot. Several times for several.",
        ),
    ] = None,
    body: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The character that follows, the one that the receiver shows.")
    ] = None,
    rate: Annotated[float, typer.Option(metavar="RATE", help="Bodies a second, at most; of a robot exactly.")] = 60.0,
    robot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A robot that follows: URDF or MJCF. Send it with --out udp.")
    ] = None,
    posture: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="Of a robot that looks at somebody, in radians.")
    ] = None,
    look_at: Annotated[
        str | None, typer.Option(metavar="PART", help="What a robot looks at; the head for one that is no humanoid.")
    ] = None,
    record: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a capture (.osc), which --in replays byte for byte.")
    ] = None,
    calibration: Annotated[
        Path | None, typer.Option(metavar="FILE", help="How trackers sit on the person, written by --save-calibration.")
    ] = None,
    save_calibration: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the calibration that is made meanwhile.")
    ] = None,
    roles: Annotated[
        str | None, typer.Option("--trackers", metavar="PART=NAME,...", help="Which tracker is on which part.")
    ] = None,
    height: Annotated[
        float | None, typer.Option(metavar="METRES", help="Stature of the person, for calibrating; else what fits.")
    ] = None,
    smoothing: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Smooth out what trembles, at the cost of so much lag.")
    ] = None,
    lock_feet: Annotated[bool, typer.Option(help="Lock feet where they stand.")] = True,
    floor: Annotated[
        float | None, typer.Option(metavar="HEIGHT", help="Height of the floor, in metres; else found from the feet.")
    ] = None,
    fit: Annotated[bool, typer.Option(help="Scale the points to the size of the body.")] = True,
    seconds: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="End after so long; else with Ctrl-C.")
    ] = None,
    studio: Annotated[bool, typer.Option(help="Show it in the studio.")] = True,
    port: Annotated[int, typer.Option(metavar="PORT", help="Of the studio; the next free one is taken.")] = 8080,
    browser: Annotated[bool, typer.Option(help="Open the studio's page.")] = True,
    ending: Ending,
) -> None:
    """Follow tracked points with a body and send it, until Ctrl-C or the end of the files.

    Points come by VMC (port 39540), VRChat's trackers (9000), JSON lines (39550), MediaPipe or from files; bodies go to
    VMC (39539), VRChat (9000), JSON lines (39551). Everything stays on this machine unless a host is given. Calibrate
    in the studio, or by /VMC/Ext/Set/Calib/Exec: stand for three seconds, then move for eight.
    """
    from ..live import Live

    options = _options(rate, posture, roles, seconds, port) | {"body": body, "robot": robot, "record": record}
    options |= {"calibration": calibration, "height": height, "smoothing": smoothing, "lock_feet": lock_feet}
    options |= {"floor": floor, "fit": fit, "look_at": look_at, "show": _note}
    inputs, outputs = sources or ["vmc"], sinks or ["vmc"]
    if studio and seconds is None and not ending.json:
        made = Live(inputs, outputs, **options)
        _in_studio(made, port, browser)
    else:
        made = Live(inputs, outputs, **options)
        _alone(made, seconds)
    found = made.follower.calibration
    if save_calibration is not None and found is not None:
        found.save(save_calibration)
    _conclude(made, ending)


def _options(rate: float, posture: str | None, roles: str | None, seconds: float | None, port: int) -> dict[str, Any]:
    """Return the options whose values are checked before anything is opened."""
    from ..compute import UnknownNameError
    from ..live.pace import SendingPace
    from ..reconstruct.sik import TRACKABLE

    with usage():
        SendingPace(rate)
    if seconds is not None and not 0.0 < seconds < 1e9:
        raise UsageError(f"--seconds {seconds:g}: expected a number above 0")
    if not 0 <= port < 65536:
        raise UsageError(f"--port {port}: expected 1 to 65535, or 0 for a free one")
    found: dict[str, Any] = {"rate": rate, "roles": {}}
    if posture is not None:
        try:
            found["posture"] = [float(word) for word in posture.split(",")]
        except ValueError:
            raise UsageError(f"--posture {posture}: expected angles in radians, as in 0,0.6,-0.9") from None
    for pair in (roles or "").split(",") if roles else []:
        part, mark, name = pair.partition("=")
        if not mark or not name:
            raise UsageError(f"--trackers {roles}: expected PART=NAME,... as in hips=LHR-1A2B,left_foot=LHR-3C4D")
        if part.strip() not in TRACKABLE:
            raise UsageError(f"--trackers {roles}: {UnknownNameError('part', part.strip(), TRACKABLE)}")
        found["roles"][name.strip()] = part.strip()
    return found


def _alone(made: Live, seconds: float | None) -> None:
    """Run without the studio, in this thread; Ctrl-C ends it as it should end."""
    with contextlib.suppress(KeyboardInterrupt), made:
        _note(f"{_where(made)} (Ctrl-C ends it)")
        made.run(seconds)


def _in_studio(made: Live, port: int, browser: bool) -> None:
    """Run in a thread, and the studio with it."""
    from ..studio import Studio

    studio = Studio(None, port=port, open_browser=browser, live=made)
    with made:
        _note(_where(made))
        made.start()
        studio.run()


def _where(made: Live) -> str:
    """Return where points come from and where bodies go, in words."""
    from ..live import UdpSource

    names = [f"{s.name} at {s.address.host}:{s.port}" if isinstance(s, UdpSource) else s.name for s in made.sources]
    if made.capture is not None:
        names.append(made.capture.path.name)
    return f"from {listed(names)}; to {listed([sink.name for sink in made.sinks]) or 'nowhere'}"


def _note(text: str) -> None:
    print(f"posable: {at_terminal(on_one_line(text))}", file=sys.stderr, flush=True)


def _conclude(made: Live, ending: Ending) -> None:
    import numpy as np

    report = made.report()
    spent = np.percentile(report.latencies, [50, 99]) * 1e3 if len(report.latencies) else None
    took = "" if spent is None else f"; from packet to packets {spent[0]:.2f} ms, 99 % under {spent[1]:.2f} ms"
    errors = [point.error for point in report.points if np.isfinite(point.error)]
    near = f"; the furthest point is {length(max(errors))} from the body" if errors else ""
    facts: dict[str, Any] = {
        "bodies": report.sent,
        "latency_ms_50": None if spent is None else round(float(spent[0]), 4),
        "latency_ms_99": None if spent is None else round(float(spent[1]), 4),
        "calibration": report.phase,
        "notes": list(report.notes),
    }
    senders = [
        {"sender": s.name, "packets": s.packets, "rate": round(s.rate, 2), "lost": s.missing, "broken": s.broken}
        for s in report.senders
    ]
    points = [
        {"point": p.name, "part": p.part, "error_m": round(p.error, 6) if np.isfinite(p.error) else None}
        for p in report.points
    ]
    sinks = [{"sink": s.name, "packets": s.packets, "errors": s.errors} for s in report.sinks]
    text = f"{'1 body' if report.sent == 1 else f'{report.sent} bodies'} sent{took}{near}"
    ending.conclude(Summary(text, report.sent > 0), facts, senders=senders, points=points, sinks=sinks)
