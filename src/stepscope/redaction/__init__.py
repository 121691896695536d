"""A recording without the names that are its owner's: ``redact(space) -> Space``.

Names are replaced where they enter, in the columns, so that every tool, export, report and agent
inherits it. What stays is what Stepscope's own code knows by name; whatever it does not know goes.
"""

from __future__ import annotations

from stepscope.redaction.columns import key_of, redact
from stepscope.redaction.level import LEVELS, Level, Redaction, level_of

__all__ = ["LEVELS", "Level", "Redaction", "key_of", "level_of", "redact"]
