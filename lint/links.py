"""``python lint/links.py``: whether the addresses elsewhere that documents link to still answer.

A report for the people who look after the documents: it needs the network, so the
checks leave it out. What needs none, such as links between documents, the tests check.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from http.client import HTTPException
from pathlib import Path
from urllib.request import Request, urlopen

ROOT = Path(__file__).resolve().parents[1]
_PATIENCE_S = 20
_ADDRESS = re.compile(r"https?://[^\s<>()`\"'\]]+")
# Places for the reader's own name, and machines nobody else has.
_OWN = re.compile(r"https?://(localhost|127\.|\[?::1|[A-Z]+\b|.*[{…])")


def pages() -> list[Path]:
    """What may link elsewhere: the documents, and the addresses in the package's metadata."""
    folders = ("docs", "examples", "changes", "fuzz", "src/stepscope/surfaces/agent")
    found = [page for folder in folders for page in (ROOT / folder).rglob("*.md")]
    return sorted([*found, *ROOT.glob("*.md"), ROOT / "pyproject.toml"])


def addresses(pages: Iterable[Path]) -> dict[str, list[str]]:
    """Every address elsewhere, and the pages that have it."""
    found: dict[str, list[str]] = {}
    for page in pages:
        for written in _ADDRESS.findall(page.read_text("utf-8")):
            address = written.rstrip(".,;:!?")
            if not _OWN.match(address):
                found.setdefault(address, []).append(page.name)
    return found


def answer(address: str) -> str:
    """What went wrong when the address was asked for; "" where it answers."""
    request = Request(address, headers={"User-Agent": "stepscope-links"})
    try:
        with urlopen(request, timeout=_PATIENCE_S):
            return ""
    except (OSError, HTTPException, ValueError) as error:
        return str(error) or type(error).__name__


def main(arguments: list[str]) -> int:
    """Print what each address answers; 1 if any does not."""
    found = addresses([Path(one) for one in arguments] or pages())
    wrong = 0
    for address, where in sorted(found.items()):
        problem = answer(address)
        wrong += bool(problem)
        print(f"{problem or 'answers'}: {address} ({', '.join(sorted(set(where)))})", flush=True)
    print(f"{len(found) - wrong} of {len(found)} addresses answer")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
