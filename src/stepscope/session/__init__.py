"""The spine: opens, composes and memoises the stages; holds no logic."""

from stepscope.session.decoded_run import FileReport, StageProgress
from stepscope.session.pick import pick_run
from stepscope.session.session import Session, open
from stepscope.session.workspace import OpenProgress, Workspace

__all__ = [
    "FileReport",
    "OpenProgress",
    "Session",
    "StageProgress",
    "Workspace",
    "open",
    "pick_run",
]
