"""What the advice says of compiled functions of whose ops none was recorded."""

from __future__ import annotations
