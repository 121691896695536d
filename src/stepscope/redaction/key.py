"""The secret behind pseudonyms, taken from the recording where nobody gives one.

It depends on every name and time of the recording. Who has only the redacted one lacks the names,
so cannot try out guesses of a single one; and the same recording gives the same pseudonyms.
"""

from __future__ import annotations

import hashlib

from stepscope.columns.space import Space


def key_of(space: Space) -> bytes:
    """A key of 32 bytes from all names and times of a recording."""
    digest = hashlib.blake2b(digest_size=32, person=b"stepscope-redact")
    meta = space.event_metadata
    texts = (
        *space.hostnames,
        *(plane.name for plane in space.planes),
        *(line.name for line in space.lines),
        *meta.name,
        *meta.display_name,
        *space.stat_metadata.name,
    )
    for text in texts:
        digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
    for column in (space.events.start_ps, space.events.duration_ps, space.event_stats.value):
        digest.update(column.tobytes())
    return digest.digest()
