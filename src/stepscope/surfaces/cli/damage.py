"""Warnings about damaged recordings, on stderr, apart from a script's data."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from stepscope.surfaces.format import clean

if TYPE_CHECKING:
    from stepscope.session import Session


def tell_damage(session: Session) -> None:
    """Print what is lost of a session's files, one line each; nothing where they are whole."""
    for diagnostic in session.recording.diagnostics(session.hosts):
        if diagnostic.severity == "error":
            text = f"warning: {diagnostic.where}: {diagnostic.message}"
            print(clean(text), file=sys.stderr)
