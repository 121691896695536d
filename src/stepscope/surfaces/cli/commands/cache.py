"""``stepscope cache``: what is kept of recordings, so that they open at once the next time."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from stepscope.store.column_cache import CachedRecording


@click.command()
@click.option("--clear", is_flag=True, help="Remove everything that is kept.")
@click.option(
    "--verify",
    is_flag=True,
    help="Decode each recording again, compare all columns, and remove entries that differ.",
)
def cache(clear: bool, verify: bool) -> int:
    """List the cached recordings, or clear the cache."""
    from stepscope.quantities import size_words
    from stepscope.store import column_cache
    from stepscope.surfaces.format import clean

    if clear:
        print(f"removed {column_cache.clear()} entries of {column_cache.cache_folder()}")
        return 0
    entries = column_cache.entries()
    states = [_verified(entry) if verify else "" for entry in entries]
    for entry, state in zip(entries, states, strict=True):
        words = [size_words(entry.size_bytes), state, clean(entry.recording) or "not readable"]
        print("  ".join(filter(None, words)))
    total = size_words(sum(entry.size_bytes for entry in entries))
    limit = size_words(column_cache.MAX_BYTES)
    print(f"{len(entries)} entries, {total} of {limit}, in {column_cache.cache_folder()}")
    if not column_cache.is_on():
        print(f"The cache is off ({column_cache.VARIABLE}).", file=sys.stderr)
    return 1 if "differs, removed" in states else 0


def _verified(entry: CachedRecording) -> str:
    """Say whether an entry is what its recording decodes to; remove it if not."""
    from stepscope.errors import StepscopeError
    from stepscope.session.decoded_run import verify_entry
    from stepscope.store import column_cache

    try:
        is_same = verify_entry(entry)
    except (StepscopeError, OSError):
        is_same = None
    if is_same:
        return "same"
    column_cache.remove(entry.path)
    return "outdated, removed" if is_same is None else "differs, removed"


COMMAND = cache
