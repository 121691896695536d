"""How often the first finding holds when a recording differs as strangers' do.

python -m tests.collection.perturb [--part develop|score] [--only TEXT] [--change TEXT] [--lines]

Each recording of the collection is altered (``altered.CHANGES``) and scored again. The first
finding holds if it is right and names its place as it did before. Where that was taken away with
what was altered, one that claims no cause is honest.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import stepscope
from stepscope.formats.xspace.encode import encode
from tests.collection.altered import CHANGES, COMMON_FILE, Change
from tests.collection.labels import Recorded, recordings
from tests.collection.score import CAUSES, Judged, judge, share, text_of


@dataclass(frozen=True)
class Held:
    """A recording, altered.

    Attributes:
        name: Of the recording.
        change: What was altered.
        judged: What advice says now.
        holds: Whether the first finding is right and placed; of a healthy program, none alarms.
        is_honest: Whether it is not, and claims no cause either.
    """

    name: str
    change: Change
    judged: Judged
    holds: bool
    is_honest: bool


def held(recorded: Recorded, change: Change, folder: Path) -> Held:
    """Alter a recording and score it."""
    program = recorded.label.program.split("/")[-1]
    with stepscope.open(recorded.path) as session:
        space = session.profile.hosts[0].space
        path = folder / "altered.xplane.pb"
        path.write_bytes(encode(change.make(space, program)))
    label = recorded.label
    if COMMON_FILE in change.name:
        label = replace(label, program=COMMON_FILE.removesuffix(".py"))
    judged = judge(replace(recorded, path=path, label=label))
    if label is not recorded.label and not judged.is_placed:
        # What XLA's instructions say of their source keeps the old name.
        judged = judge(replace(recorded, path=path))
    first = judged.first
    if label.planted is None:
        return Held(recorded.name, change, judged, judged.is_right, is_honest=False)
    holds = judged.is_right and judged.is_placed
    claims = first is not None and first.rule in CAUSES and first.severity != "info"
    return Held(recorded.name, change, judged, holds, is_honest=not holds and not claims)


def table(rows: list[Held]) -> Iterator[str]:
    """One line per change."""
    yield f"{'':24} {'faulty: holds':>18} {'honest':>8} {'wrong':>6}   healthy with an alarm"
    for change in CHANGES:
        own = [one for one in rows if one.change is change]
        faulty = [one for one in own if one.judged.is_faulty]
        healthy = [one for one in own if not one.judged.is_faulty]
        if not own:
            continue
        holds, honest = (
            sum(one) for one in ((one.holds for one in faulty), (one.is_honest for one in faulty))
        )
        yield (
            f"{change.name:24} {share(holds, len(faulty)):>18} {honest:8} "
            f"{len(faulty) - holds - honest:6}   "
            f"{share(sum(not one.holds for one in healthy), len(healthy))}"
        )


def main() -> None:
    """Print what does not hold, then the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--part", default="develop", choices=("develop", "score"))
    parser.add_argument("--only", default="", help="recordings with this text")
    parser.add_argument("--change", default="", help="changes with this text")
    parser.add_argument("--lines", action="store_true", help="every recording that fails")
    given = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for recorded in recordings(given.part, given.only):
            for change in CHANGES:
                if given.change in change.name:
                    rows.append(held(recorded, change, Path(folder)))
                    if given.lines and not rows[-1].holds:
                        print(_line(rows[-1]), flush=True)
    print("\n".join(table(rows)))


_WIDTH: Final = 150


def _line(one: Held) -> str:
    first = one.judged.first
    said = "nothing" if first is None else f"{first.rule}: {text_of(first)}"
    state = "honest" if one.is_honest else "WRONG"
    failed = " ".join(one.judged.failed)
    return f"{one.change.name:22} {one.name:56} {state:6} {failed}{said!r:.{_WIDTH}}"


if __name__ == "__main__":
    main()
