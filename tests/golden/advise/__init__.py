"""Stored answers of ``advise``: ``NAME.txt`` as a pipe gets it, ``NAME.json`` its findings.

``python -m tests.golden.advise [NAME …]`` writes them again from the recordings of ``cases.toml``.
"""

from __future__ import annotations

import io
import json
import re
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

import stepscope
from stepscope.session import Session
from stepscope.surfaces.cli.pages.advice import advice_page
from tests.unit.formats.torch_memory.snapshot import training, written

FOLDER: Final = Path(__file__).parent
DATA: Final = FOLDER.parents[2].parent / "shared" / "data"
WIDTH: Final = 80
# Enough to see that a number changed, too few to see the machine's rounding.
_DIGITS: Final = 4
_BUILT: Final = {"torch_memory": lambda folder: written(folder / "snapshot.pickle", training())}


def cases() -> Mapping[str, Mapping[str, str]]:
    """Return the cases by name: where each recording is, and why it is one."""
    found: dict[str, dict[str, str]] = tomllib.loads((FOLDER / "cases.toml").read_text("utf-8"))
    return found


def opened(case: Mapping[str, str], folder: Path) -> Session:
    """Return the session of a case.

    Args:
        case: An entry of ``cases``.
        folder: An empty folder for a recording that is built.
    """
    return stepscope.open(
        DATA / case["source"] if "source" in case else _BUILT[case["built"]](folder)
    )


def answers(case: Mapping[str, str], session: Session) -> tuple[str, str]:
    """Return the text and the JSON of the advice about a case."""
    advice = session.advice()
    page = io.StringIO()
    advice_page(session.name, advice, WIDTH, with_checks=False).print(page, colour=False)
    text = page.getvalue()
    text = re.sub(r"run \S+", "run NAME", text, count=1) if "built" in case else text
    plain = advice.to_dict()
    outcomes: dict[str, list[str]] = {}
    for checked in plain["checked"]:
        outcomes.setdefault(checked["outcome"], []).append(checked["rule"])
    body = {"findings": _rounded(plain["findings"]), "rules": outcomes}
    return text, json.dumps(body, indent=1, ensure_ascii=False) + "\n"


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    return [_rounded(inner) for inner in value] if isinstance(value, list) else value


def main() -> None:
    """Write the stored answers of the named cases, or of all."""
    names = sys.argv[1:]
    for name, case in cases().items():
        if names and name not in names:
            continue
        with tempfile.TemporaryDirectory() as folder, opened(case, Path(folder)) as session:
            text, body = answers(case, session)
        (FOLDER / f"{name}.txt").write_text(text, "utf-8")
        (FOLDER / f"{name}.json").write_text(body, "utf-8")
        print(f"{name}: {len(text.split())} words")
