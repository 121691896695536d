"""Public Kineto files written again by other programs: every tool answers the same to the byte."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

import stepscope
from stepscope.analysis import TOOLS
from stepscope.surfaces.export import json_text

FILES: Final = Path(__file__).parents[3] / "shared" / "data" / "kineto"
pytestmark = pytest.mark.skipif(not FILES.is_dir(), reason="the shared files are not here")

#: One of each kind: eager, recent; replayed graphs, on ROCm; compiled; of 2023, in whole µs.
NAMES: Final = (
    "h100-vs-mi300/h100/gaunernst_bert-small-uncased__1016001.json.gz",
    "other/mi300-vllm-decode-graph.json.gz",
    "other/torch-compile-triton.json.gz",
    "v100-dlrm-8rank/worker3_step_12.1694128201557.pt.trace.json.gz",
)
_EVENTS: Final = "traceEvents"
_DISTRIBUTED: Final = "distributedInfo"
_BASE: Final = "baseTimeNanoseconds"


def _shuffled(value: Any, rng: random.Random) -> Any:
    if isinstance(value, dict):
        items = [(key, _shuffled(one, rng)) for key, one in value.items()]
        return dict(rng.sample(items, len(items)))
    return [_shuffled(one, rng) for one in value] if isinstance(value, list) else value


def _mixed(trace: dict[str, Any]) -> str:
    """Events in any order, each with its keys in any order."""
    rng = random.Random(7)
    events = [
        {key: _shuffled(value, rng) if key == "args" else value for key, value in one.items()}
        for one in rng.sample(trace[_EVENTS], len(trace[_EVENTS]))
    ]
    return json.dumps({**trace, _EVENTS: events})


def _last(trace: dict[str, Any], *keys: str) -> str:
    rest = {key: value for key, value in trace.items() if key not in keys}
    return json.dumps(rest | {key: trace[key] for key in keys if key in trace}, indent=2)


def _lines(trace: dict[str, Any]) -> str:
    head = json.dumps({key: value for key, value in trace.items() if key != _EVENTS})[:-1]
    return f'{head}, "{_EVENTS}": [\n' + ",\n".join(map(json.dumps, trace[_EVENTS])) + "\n]}"


LAYOUTS: Final[dict[str, Callable[[dict[str, Any]], str]]] = {
    "one line": json.dumps,
    "no blanks": lambda trace: json.dumps(trace, separators=(",", ":")),
    "indent 1": lambda trace: json.dumps(trace, indent=1),
    "sorted keys": lambda trace: json.dumps(trace, sort_keys=True),
    "shuffled": _mixed,
    "base time last": lambda trace: _last(trace, _BASE),
    "ranks after the events": lambda trace: _last(trace, _DISTRIBUTED),
    "one event a line": _lines,
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", NAMES, ids=lambda name: Path(name).name.split(".")[0])
def test_a_layout_changes_no_answer(name: str, layout: str, tmp_path: Path) -> None:
    target = tmp_path / Path(name).name.removesuffix(".gz")
    target.write_text(LAYOUTS[layout](json.loads(_text(name))), "utf-8")
    original = tmp_path / "original" / target.name
    original.parent.mkdir()
    original.write_bytes(_text(name))
    wanted, found = _answers(original), _answers(target)
    assert len(wanted) > 10
    assert found == wanted


@cache
def _text(name: str) -> bytes:
    return gzip.decompress((FILES / name).read_bytes())


def _answers(path: Path) -> dict[str, str]:
    """What every tool that has something to show says."""
    with stepscope.open(path) as session:
        return {
            tool: json_text(session.run(tool)).replace(str(path.parent), "")
            for tool in TOOLS.ids
            if session.available(tool) is None
        }
