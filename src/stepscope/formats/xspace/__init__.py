"""XSpace, the protobuf message of ``*.xplane.pb``: bytes to ``Space`` and back.

``decode`` reads any XSpace without the protobuf runtime; ``encode`` holds what writes the columns
again, event for event; ``plane_writer`` makes new planes from arrays for recorders and importers.
"""

from __future__ import annotations

from stepscope.formats.xspace.decode import decode

__all__ = ["decode"]
