"""What to try about parts of which only a name is known."""

from __future__ import annotations
