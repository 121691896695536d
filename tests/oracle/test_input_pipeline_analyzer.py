"""Input ops against the incumbent's answers on real profiles.

Accepted differences:

* the step table is not compared: on a GPU the incumbent's steps ignore the host (reference §12.1);
* its host breakdown scales by an infeed ratio that GPUs and CPUs do not have; ours is Σ self time,
  which is what it reports where the ratio is 0;
* more rows: annotated stages, data loaders and Python functions, which it cannot see.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from stepscope.analysis.input_pipeline_analyzer import input_pipeline_analyzer
from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host, Profile

SHARED = Path(__file__).parents[3] / "shared"
# Rows the incumbent lacks start so.
_OURS = ("enumerate(DataLoader)", "next", "$")


def _read(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def _oracle(folder: str) -> list[dict[str, Any]]:
    path = SHARED / "oracle" / folder / "input_pipeline_analyzer.json"
    path = path if path.exists() else path.with_name(path.name + ".gz")
    tables = json.loads(_read(path))
    found = [t for t in tables if t.get("cols") and t["cols"][0]["id"] == "opName"]
    ids = [column["id"] for column in found[0]["cols"]]
    return [
        dict(zip(ids, (cell["v"] for cell in row["c"]), strict=True)) for row in found[0]["rows"]
    ]


@pytest.mark.parametrize(
    "folder",
    ["tf-v100-8gpu", "tf-cpu-keras", "tf-cpu-custom-loop-2M", "tf-cpu-python-tracer"],
)
def test_input_ops_equal_the_incumbents(folder: str) -> None:
    if not SHARED.exists():
        pytest.skip("the shared real profiles are not on this machine")
    (file,) = (SHARED / "data" / "xplane" / folder).glob("*.pb*")
    profile = Profile("s", (Host("h", decode(_read(file))),))
    ours = {row["op"]: row for row in input_pipeline_analyzer(profile).input_ops.rows()}
    theirs = {row["opName"]: row for row in _oracle(folder)}
    assert theirs.keys() <= ours.keys()
    assert all(name.startswith(_OURS) for name in ours.keys() - theirs.keys())
    for name, row in theirs.items():
        assert ours[name]["count"] == row["count"]
        assert ours[name]["total_time_ms"] == pytest.approx(row["timeInMs"], abs=1e-6)
        assert ours[name]["total_time_frac"] == pytest.approx(row["timeInPercent"], abs=1e-9)
        assert ours[name]["self_time_ms"] == pytest.approx(row["selfTimeInMs"], abs=1e-6)
        assert ours[name]["self_time_frac"] == pytest.approx(row["selfTimeInPercent"], abs=1e-9)
        assert ours[name]["category"] == row["category"]
