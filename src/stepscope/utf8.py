r"""Text of strangers: bytes that should be UTF-8, and paths that need not be.

Inside the package every text can be encoded. What is not UTF-8 is shown as ``\xff``, as terminals
show it; who must write the same bytes again keeps them beside the text.
"""

from __future__ import annotations

import os


def text_of(data: bytes | memoryview) -> str:
    r"""The text of these bytes; each byte that is not UTF-8 as ``\xff``."""
    return str(data, "utf-8", "backslashreplace")


def shown(path: str) -> str:
    """A path as text that can be encoded: Python keeps odd bytes of names as lone surrogates."""
    try:
        path.encode()
    except UnicodeEncodeError:
        try:
            return text_of(os.fsencode(path))
        except UnicodeEncodeError:  # half of a character, which no path has
            return path.encode("utf-8", "backslashreplace").decode()
    return path
