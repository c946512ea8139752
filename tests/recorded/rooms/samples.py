"""The built-in motions."""

import posable as ps

from ..calls import call
from ..inputs import body, child


@call()
def of_the_figure():
    return {name: getattr(ps.samples, name)(body(), fps=20.0) for name in ps.samples.NAMES}


@call()
def of_a_child():
    return {name: getattr(ps.samples, name)(child(), duration=1.5, fps=24.0) for name in ps.samples.NAMES}
