"""A file that leads a browser to the pages without their token in its command line."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from html import escape
from pathlib import Path


@contextmanager
def redirecting_file(url: str) -> Iterator[Path]:
    """A page that goes on to ``url``, readable by this user only; removed at the end.

    Every user of a machine may read the arguments of every program, the browser's among them.
    """
    with tempfile.NamedTemporaryFile(  # made with mode 0600
        "w", prefix="stepscope-", suffix=".html", encoding="utf-8", delete=False
    ) as file:
        to = escape(url, quote=True)
        file.write(
            '<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
            f'<meta http-equiv="refresh" content="0;url={to}">'
            f'<title>Stepscope</title><p><a href="{to}">Open Stepscope</a></p>'
        )
    path = Path(file.name)
    try:
        yield path
    finally:
        with suppress(OSError):
            path.unlink()
