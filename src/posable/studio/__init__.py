"""The studio: a browser page with a figure, a timeline, and a tab for each job.

`posable studio` opens it; `Studio` and `launch` do the same from Python. A job is a class in `posable.studio.tabs`.
"""

from ..compute import require

require("viser", "studio")

from .app import Studio, launch  # noqa: E402
from .core.actor import Actor  # noqa: E402
from .core.session import Selection, Session  # noqa: E402
from .tabs import TABS, Tab  # noqa: E402

__all__ = ["TABS", "Actor", "Selection", "Session", "Studio", "Tab", "launch"]
