"""Advice on real recordings of accelerators, each judged by hand against its data.

The expected rules are what a person finds in the timeline and the tables of the recording; beside
each stands the number that proves it.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

import stepscope
from stepscope.formats.kineto.planes import to_xspace
from stepscope.formats.kineto.reading.read import read
from stepscope.formats.kineto.steps import StepCount
from stepscope.result import Finding, Ref
from stepscope.session import Session

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


def rows_shown(session: Session, ref: Ref) -> list[dict[str, object]]:
    """Return the rows that the page of a piece of evidence opens with, as ``evidence.ts`` asks."""
    tables = session.run(ref.tool).tables()
    column, _, value = ref.what.partition("=")
    by_name = [name for name in tables if name in (ref.what, ref.what.split(".")[0])]
    by_column = [name for name in tables if column in tables[name].columns]
    rows = list(tables[[*by_name, *by_column, *tables][0]].rows())
    return [row for row in rows if str(row[column]) == value] if value else rows


def evidence_not_shown(session: Session) -> list[tuple[str, Ref, str]]:
    """Return what findings name as their evidence and no row of the page that opens has."""
    missing = []
    for finding in session.advice().findings:
        for ref in finding.evidence:
            if ref.rows and ref.tool != "trace_viewer":
                cells = {str(cell) for row in rows_shown(session, ref) for cell in row.values()}
                missing += [(finding.rule, ref, name) for name in ref.rows if name not in cells]
    return missing


def sums_that_differ(session: Session) -> list[tuple[str, float, float]]:
    """Return the parts whose time in a finding is another than that of the rows of its page."""
    differing = []
    for finding in session.advice().findings:
        part_ms = finding.measured.get("part_ms")
        for ref in finding.evidence:
            if ref.tool == "step_account" and ref.rows and isinstance(part_ms, float):
                rows = [row for row in rows_shown(session, ref) if row["name"] in ref.rows]
                times = [float(str(row["time_ms"])) for row in rows]
                if not any(time == pytest.approx(part_ms) for time in [*times, sum(times)]):
                    differing.append((finding.title, part_ms, sum(times)))
    return differing


@pytest.mark.parametrize(
    "name",
    [
        "xplane/tf-v100-8gpu",
        "xplane/jax-tpu-v6e-4",
        "kineto/h100-vs-mi300/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
        "kineto/other/mi300-resnet-training.json.gz",
        "kineto/other/mi300-vllm-decode-graph.json.gz",  # kernels of a graph, which no op launched
        "kineto/v100-resnet50-dataloader/workers_0",
        "nsight/minimal.sqlite",
    ],
)
def test_evidence_names_rows_that_its_page_shows(name: str, real_profiles: Path) -> None:
    path = real_profiles.parent / name
    if not path.exists():
        pytest.skip(f"{name} is not in the collection of real profiles")
    with stepscope.open(path) as session:
        assert evidence_not_shown(session) == []
        assert sums_that_differ(session) == []


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
