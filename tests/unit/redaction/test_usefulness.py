"""What a redacted recording is still worth: verdict, figures, types of ops, families of kernels.

    python -m tests.unit.redaction.test_usefulness

prints it for each recording and level.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from stepscope.errors import StepscopeError
from stepscope.redaction import Redaction
from stepscope.session import Session, open

_RECORDINGS = Path(__file__).parents[2] / "collection" / "recordings"
#: The first and the last recording of each kind that is kept with the source.
CHOSEN = [
    recordings[place]
    for framework in ("jax", "jax_gpu", "keras", "tensorflow", "torch", "torch_gpu")
    if (recordings := sorted((_RECORDINGS / framework).rglob("*.gz")))
    for place in sorted({0, len(recordings) - 1})
]
_FIGURES = ("steps", "breakdown_ms", "bound_by", "limited_by", "throughput", "op_shares")


class Worth(NamedTuple):
    """What a reader takes from a recording.

    Attributes:
        verdict: Rules of the findings, the largest first.
        figures: Of the overview.
        op_types, kernel_classes: Distinct ones.
    """

    verdict: list[str]
    figures: dict[str, Any]
    op_types: set[str]
    kernel_classes: set[str]


def worth(session: Session) -> Worth:
    """What a session tells."""
    overview = session.overview_page().to_dict()
    findings = [finding["rule"] for finding in session.advice().to_dict()["findings"]]
    return Worth(
        findings,
        {name: _numbers(overview[name]) for name in _FIGURES},
        set(_column(session, "framework_op_stats", "ops", "type")),
        set(_column(session, "kernel_stats", "by_class", "kernel_class")),
    )


def _numbers(value: Any) -> Any:
    """A value without sentences, which name functions of the program."""
    if isinstance(value, dict):
        return {
            key: _numbers(item)
            for key, item in value.items()
            if not (isinstance(item, str) and " " in item)
        }
    return value


def _column(session: Session, tool: str, table: str, column: str) -> Iterable[str]:
    try:
        found: list[str] = session.run(tool).tables()[table].to_dict()[column]
    except StepscopeError:
        return []
    return found


@pytest.mark.slow
@pytest.mark.parametrize("path", CHOSEN, ids=lambda path: path.parent.name)
def test_a_redacted_recording_keeps_its_verdict_and_figures(path: Path) -> None:
    with open(path) as plain, open(path, redact=Redaction("names")) as redacted:
        before, after = worth(plain), worth(redacted)
    assert after.verdict[:1] == before.verdict[:1]
    assert after.figures == before.figures
    assert after.kernel_classes == before.kernel_classes
    kept = before.op_types & after.op_types
    assert len(kept) >= 0.9 * len(before.op_types), sorted(before.op_types - after.op_types)


def main() -> int:
    """Print what each recording keeps; 1 if "names" changes a verdict ("all" takes shapes, too)."""
    changed = 0
    print(f"{'recording':44} level   verdict  figures  op types  kernels")
    for path in CHOSEN:
        with open(path) as session:
            before = worth(session)
        for level in ("names", "all"):
            with open(path, redact=Redaction(level)) as session:
                after = worth(session)
            same = before.verdict == after.verdict
            changed += not same and level == "names"
            figures = sum(after.figures[name] == before.figures[name] for name in _FIGURES)
            kept = (
                f"{'same' if same else 'differs':>8} {figures:>4} of {len(_FIGURES)}"
                f" {len(before.op_types & after.op_types):>3} of {len(before.op_types):>2}"
                f" {len(before.kernel_classes & after.kernel_classes):>2}"
                f" of {len(before.kernel_classes):>2}"
            )
            print(f"{path.parent.parent.name + '/' + path.parent.name:44} {level:6} {kept}")
    return int(changed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
