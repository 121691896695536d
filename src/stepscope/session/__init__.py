"""The spine: opens, composes and memoises the stages; holds no logic."""

from stepscope.session.decoded_run import FileReport, StageProgress
from stepscope.session.pick import pick_run
from stepscope.session.session import Session, open

__all__ = [
    "FileReport",
    "Session",
    "StageProgress",
    "open",
    "pick_run",
]
