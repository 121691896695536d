"""The shared recordings and what the incumbent answered on them; absent in a user's clone."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host, Profile

SHARED = Path(__file__).resolve().parents[3] / "shared"

PROFILES = (
    "jax-cpu",
    "jax-mi300x/jax08_attention",
    "jax-mi300x/jax08_gemm",
    "jax-mi300x/jax_conv_minimal_08",
    "jax-mi300x/jax_conv_minimal_legacy",
    "jax-tpu-v6e-4",
    "julia-gtx1080ti/1",
    "julia-gtx1080ti/2",
    "julia-gtx1080ti/3",
    "julia-gtx1080ti/4",
    "tf-cpu-custom-loop-2M",
    "tf-cpu-keras",
    "tf-cpu-python-tracer",
    "tf-v100-8gpu",
)


def recording(name: str) -> Profile:
    """The shared XSpace of this name, decoded; skips the test where there is none."""
    folder = SHARED / "data" / "xplane" / name
    if not folder.is_dir():
        pytest.skip(
            f"needs ../shared/data/xplane/{name}, which only the project's own machines have"
        )
    (path,) = folder.iterdir()
    data = path.read_bytes()
    data = gzip.decompress(data) if path.suffix == ".gz" else data
    return Profile(name, (Host(name, decode(data)),))


def answer(name: str, tool: str) -> Any:
    """What the incumbent answered for this recording; skips the test where it is absent."""
    path = SHARED / "oracle" / name / f"{tool}.json"
    if path.exists():
        return json.loads(path.read_text())
    packed = path.with_suffix(".json.gz")
    if not packed.exists():
        pytest.skip(f"needs ../shared/oracle/{name}/{tool}.json")
    return json.loads(gzip.decompress(packed.read_bytes()))


def in_decimal_units(field: str, value: Any) -> Any:
    """A figure of the incumbent's as our field has it: it calls GiB/s what is GB/s here."""
    is_rate = field.endswith("_gbps") and isinstance(value, float | int)
    return value * 2**30 / 1e9 if is_rate else value


def rows(table: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a Google-visualization table as dictionaries."""
    ids = [column["id"] for column in table["cols"]]
    return [
        {id_: (cell or {}).get("v") for id_, cell in zip(ids, row["c"], strict=False)}
        for row in table["rows"]
    ]
