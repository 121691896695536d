"""Advice on real recordings of accelerators, each judged by hand against its data.

The expected rules are what a person finds in the timeline and the tables of the recording; beside
each stands the number that proves it.
"""

from __future__ import annotations

import gzip
import math
import re
from pathlib import Path
from typing import Any

import pytest

import stepscope
from stepscope.analysis import TOOLS
from stepscope.formats.kineto.planes import to_xspace
from stepscope.formats.kineto.reading.read import read
from stepscope.formats.kineto.steps import StepCount
from stepscope.pod.decoded import pod_of_profile
from stepscope.result import Finding, Ref, Result, columns_of
from stepscope.session import Session
from tests.golden.advise import DATA, cases, opened

# folder or file: the rules above "info" in the order in which they must come, and those that must
# not speak
XPLANES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    # 100 % of the copying ops have an end in memory space 5 (the host's); no input pipeline.
    "jax-tpu-v6e-4/tpu_inference_2.xplane.pb": (("host-copies",), ("input-bound", "device-copies")),
    # 665 kernels on GPU 4 and on GPU 6: equal work, though GPU 4's clock is 0.5 s off. No XLA
    # fuses what lies between the products: a third of the step, more than launches can save.
    "tf-v100-8gpu/34.83.195.179_6003.xplane.pb": (
        ("no-xla", "launch-bound", "input-bound"),
        ("unbalanced-devices", "slow-launches", "memory-near-limit"),
    ),
    # Half of the kernels' time turns NCDHW round for MIOpen's matrix product.
    "jax-mi300x/jax_conv_minimal_legacy/chi-mi300x-013.ord.vultr.cpe.ice.amd.com.xplane.pb": (
        ("launch-bound", "small-batch", "layout-transposes"),
        ("full-precision", "tensor-cores-unused", "slow-launches"),
    ),
    # bfloat16 products on matrix cores; launches of 9 µs.
    "jax-mi300x/jax08_gemm/tw003.xplane.pb": (
        (),
        ("full-precision", "tensor-cores-unused", "slow-launches", "roofline-gap"),
    ),
}
KINETO: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    # The loader works in the main process: 60 of 178 ms wait for it …
    "v100-resnet50-dataloader/workers_0": (
        ("loader-workers", "input-bound", "full-precision"),
        ("host-copies",),
    ),
    # … and with four workers no more; sgemm on tensor-core hardware is what stays.
    "v100-resnet50-dataloader/workers_4": (
        ("full-precision",),
        ("loader-workers", "input-bound"),
    ),
    # Rank 2 comes last. The 175 ms of cudaMalloc and 166 of cudaFree are the warm-up step's.
    # Of its delay the others save 13 to 18 ms, with nothing beside 30 of their transfers.
    "v100-torchrec-4rank/before_qcomm": (
        ("full-precision", "exposed-collectives", "straggler"),
        ("launch-bound", "memory-near-limit"),
    ),
    # Quantised communication: transfers that the step waits for fall from 30 to 7.6 ms.
    "v100-torchrec-4rank/after_qcomm": (
        ("full-precision", "straggler"),
        ("exposed-collectives",),
    ),
    # 209 kernels of 4 µs on each of eight ranks, and hosts that dispatch them for 8 of 20 ms.
    "v100-dlrm-8rank": (("tiny-kernels", "straggler"), ("full-precision", "collective-bound")),
    # Eager decoding: 585 kernels a step of one call of the model, 18 layers of 32, the device works
    # 13 % of it. Products in 8 and 4 bits.
    "other/b200-eager.json.gz": (("tiny-kernels",), ("tensor-cores-unused", "full-precision")),
    # The same as a graph: the device is busy.
    "other/mi300-vllm-decode-graph.json.gz": ((), ("tiny-kernels", "tensor-cores-unused")),
    # One rank of several: RCCL 23.8 ms beside 9.6 ms of work; transposes around convolutions.
    "other/mi300-resnet-training.json.gz": (
        ("collective-bound", "layout-transposes"),
        ("full-precision", "tensor-cores-unused"),
    ),
}


def alarms(path: Path) -> list[Finding]:
    """What advice says above "info"."""
    with stepscope.open(path) as session:
        advice = session.advice()
    assert [one for one in advice.checked if one.outcome == "failed"] == []
    return [one for one in advice.findings if one.severity != "info"]


# Tables in which each row has the quantity whole: what holds of all is their mean.
MEANS = ("step_table", "workers")


def on_page(session: Session, tool: str) -> Result:
    """Return a tool's result as the page of a reference asks for it."""
    if tool == "pod":
        pod = pod_of_profile(session.profile)
        assert not isinstance(pod, str), pod
        return pod
    own = TOOLS.find(tool).times_of[:1]
    return session.per("recording" if own == ("recording",) else "step").run(tool)


def rows_shown(session: Session, ref: Ref) -> tuple[str, list[dict[str, Any]]]:
    """Return the column and the rows that the page of a reference opens with (``evidence.ts``)."""
    tables = on_page(session, ref.tool).tables()
    place, is_condition, value = ref.what.partition("=")
    named = [name for name in tables if name in (place, place.partition(".")[0])]
    holding = [name for name in tables if place in tables[name].columns]
    table = tables[[*named, *holding][0]]
    columns = columns_of(table.schema)
    column = place.rpartition(".")[2]
    if is_condition or column not in columns:  # as it arrives
        column = next(name for name, (_, one) in columns.items() if one.sort)
    rows = list(table.rows())
    if is_condition:
        rows = [row for row in rows if str(row[place.rpartition(".")[2]]) == value]
    if ref.rows:  # the page's search reads the texts of a row
        search = re.compile(f"^(?:{'|'.join(map(re.escape, ref.rows))})$", re.IGNORECASE)
        rows = [row for row in rows if any(search.match(c) for c in row.values() if is_text(c))]
    return column, rows


def is_text(cell: object) -> bool:
    return isinstance(cell, str)


def figure_shown(session: Session, ref: Ref) -> float | None:
    """Return what the rows of a reference sum to, or the field it names; None for other things."""
    result = on_page(session, ref.tool)
    head, *inner = ref.what.partition("=")[0].split(".")
    if hasattr(result, head) and head not in result.tables():
        field = getattr(result, head)
        for name in inner:
            field = field[name] if isinstance(field, dict) else getattr(field, name, None)
        return field if isinstance(field, float) else None
    column, rows = rows_shown(session, ref)
    cells = [row[column] for row in rows]
    if all(map(is_text, cells)) and cells:
        return None
    known = [float(cell) for cell in cells if cell is not None and not math.isnan(cell)]
    whole = math.fsum(known) / (max(len(known), 1) if head in MEANS else 1)
    return whole / 1e3 if column.endswith("_us") else whole


def references_to_other_figures(session: Session) -> list[tuple[str, str, float]]:
    """Return the references of findings that open rows of another sum than any of their figures."""
    differing = []
    for finding in session.advice().findings:
        figures = [
            value / 1e3 if name.endswith("_us") else value
            for name, value in finding.measured.items()
            if isinstance(value, (int, float))
        ]
        for ref in finding.evidence:
            shown = None if ref.tool == "trace_viewer" else figure_shown(session, ref)
            # A window ends with the program, a recording after it: so far its shares differ.
            if shown is not None and all(shown != pytest.approx(one, rel=2e-4) for one in figures):
                differing.append((finding.title, f"{ref.tool} {ref.what}", shown))
    return differing


@pytest.mark.parametrize("name", cases())
def test_rows_of_a_reference_sum_to_a_figure_of_the_finding(name: str, tmp_path: Path) -> None:
    case = cases()[name]
    if "source" in case and not (DATA / case["source"]).exists():
        pytest.skip(f"needs ../shared/data/{case['source']}, which is not in a user's clone")
    with opened(case, tmp_path) as session:
        assert references_to_other_figures(session) == []
        assert [one.title for one in session.advice().findings if not one.evidence] == []


def check(found: list[Finding], expected: tuple[str, ...], never: tuple[str, ...]) -> None:
    rules = [one.rule for one in found]
    places = [rules.index(rule) for rule in expected]
    assert places == sorted(places), rules
    assert not set(rules) & set(never), rules
    assert expected[:1] == tuple(rules[: len(expected[:1])]), rules


@pytest.mark.parametrize("name", XPLANES)
def test_advice_on_a_recording_of_tensorflow_or_jax_is_true(name: str, real_profiles: Path) -> None:
    check(alarms(real_profiles / name), *XPLANES[name])


@pytest.mark.parametrize("name", KINETO)
def test_advice_on_a_recording_of_pytorch_is_true(
    name: str, real_profiles: Path, tmp_path: Path
) -> None:
    source = real_profiles.parent / "kineto" / name
    if not source.exists():
        pytest.skip(f"{name} is not in the collection of real profiles")
    traces = [source] if source.is_file() else sorted(source.glob("*.json.gz"))
    for rank, trace in enumerate(traces):
        text = tmp_path / "trace.json"
        text.write_bytes(gzip.decompress(trace.read_bytes()))
        # As a file is opened: steps that only an engine reports are marked.
        data = to_xspace(read(text), count=StepCount())[0]
        (tmp_path / f"rank{rank}.xplane.pb").write_bytes(data)
    check(alarms(tmp_path), *KINETO[name])
