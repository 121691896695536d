"""The spine: opens, composes and memoises the stages; holds no logic."""

from stepscope.session.recording import FileReport, Progress
from stepscope.session.session import Session, open, pick_run
from stepscope.session.workspace import OpenProgress, Workspace

__all__ = [
    "FileReport",
    "OpenProgress",
    "Progress",
    "Session",
    "Workspace",
    "open",
    "pick_run",
]
