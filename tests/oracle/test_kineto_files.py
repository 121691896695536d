"""Public Kineto files against figures that were computed from their text alone.

Where the files are not (they are shared between workplaces, not kept here) nothing is tested. The
table that the test prints is the one of ``reference/pytorch.md`` §6.1, in ms.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import pytest

import stepscope
from stepscope.tables.device.usage import DeviceUsage

FILES: Final = Path(__file__).parents[3] / "shared" / "data" / "kineto"
pytestmark = pytest.mark.skipif(not FILES.is_dir(), reason="the shared files are not here")

# Of each recording and rank: events, with op, without launch; ms as in the reference.
KNOWN: Final[dict[str, list[tuple[int, int, int, str]]]] = {
    "h100-vs-mi300/h100/gaunernst_bert-small-uncased__1016001.json.gz": [
        (61, 61, 0, "3.907825 0.309437 0.307197 0 0 0.002240 0.002240")
    ],
    "h100-vs-mi300/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz": [
        (1707, 1198, 509, "49.652832 45.647300 45.644932 0 0 0.002368 0.002368")
    ],
    "h100-vs-mi300/h100/facebook_timesformer-base-finetuned-k400__1016002.json.gz": [
        (534, 534, 0, "159.992427 158.433174 154.969032 0 0 3.464142 3.464142")
    ],
    "h100-vs-mi300/mi300/gaunernst_bert-small-uncased__1016001.json.gz": [
        (61, 61, 0, "3.495976 0.390748 0.388344 0 0 0.002404 0.002404")
    ],
    "h100-vs-mi300/mi300/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz": [
        (1517, 1054, 463, "47.085800 43.062802 43.062042 0 0 0.000760 0.000760")
    ],
    "h100-vs-mi300/mi300/facebook_timesformer-base-finetuned-k400__1016002.json.gz": [
        (449, 449, 0, "121.267204 119.852883 118.758892 0 0 1.093991 1.093991")
    ],
    "hta-trace-diff/control": [
        (9450, 9402, 0, "464.594 388.587 282.582 163.535 87.267 53.454 18.738")
    ],
    "hta-trace-diff/test": [
        (15632, 14970, 614, "745.239 717.943 550.307 251.341 72.359 155.110 95.277")
    ],
    "other/b200-eager.json.gz": [
        (929, 927, 0, "84.487178 11.596482 10.771685 0.021953 0.021953 0.802844 0.802844")
    ],
    "other/mi300-resnet-training.json.gz": [
        (3653, 2685, 968, "86.567708 84.002056 26.174953 71.516523 55.371257 2.538596 2.455846")
    ],
    "other/mi300-sglang-decode.json.gz": [
        (558, 11, 0, "473.749943 9.772926 9.759749 0 0 0.013177 0.013177")
    ],
    "other/mi300-vllm-decode-graph.json.gz": [
        (434, 13, 0, "10.743181 10.717708 10.674517 0 0 0.043191 0.043191")
    ],
    "other/torch-compile-triton.json.gz": [(12, 12, 0, "12.549032 12.549021 12.549021 0 0 0 0")],
    "v100-resnet50-dataloader/workers_0": [
        (9096, 9096, 0, "996.477 603.558 592.066 0 0 11.492 11.492")
    ],
    "v100-resnet50-dataloader/workers_4": [
        (9258, 9258, 0, "801.550 614.413 595.454 0 0 18.959 18.959")
    ],
}
# Of each rank: span, communication, exposed communication.
RANKS: Final[dict[str, list[str]]] = {
    "v100-dlrm-8rank": [
        "13.009 5.798 5.537",
        "18.749 11.336 11.056",
        "11.350 3.492 3.217",
        "18.853 9.774 9.440",
        "16.589 6.587 6.550",
        "16.392 6.251 6.211",
        "11.410 3.558 3.289",
        "10.967 1.746 1.580",
    ],
}


@pytest.mark.parametrize("name", KNOWN)
def test_every_device_agrees_to_the_nanosecond(name: str) -> None:
    found = _windows(name)
    wanted = KNOWN[name]
    assert len(found) == len(wanted)
    for one, (events, with_op, without_launch, times) in zip(found, wanted, strict=True):
        print(_row(name, one))
        assert (one.events, one.with_op, one.without_launch) == (events, with_op, without_launch)
        assert _times(one) == [_ns(word) for word in times.split()]


@pytest.mark.parametrize("name", RANKS)
def test_ranks_of_a_folder_are_hosts_of_one_run(name: str) -> None:
    found = _windows(name)
    assert [one.host for one in found] == [f"rank{n}" for n in range(len(RANKS[name]))]
    for one, wanted in zip(found, RANKS[name], strict=True):
        print(_row(name, one))
        times = [one.span_ns, one.communication_ns, one.exposed_communication_ns]
        assert times == [_ns(word) for word in wanted.split()]


@pytest.mark.parametrize(
    "path", sorted(FILES.rglob("*.json.gz")) if FILES.is_dir() else [], ids=lambda path: path.name
)
def test_busy_time_is_that_of_a_plain_sweep_over_the_text(path: Path) -> None:
    """The twin: ``json`` and fractions, an event at a time, every file there is."""
    with gzip.open(path) as file:
        trace = json.load(file, parse_float=Fraction)
    by_device: dict[Any, list[tuple[int, int]]] = {}
    for event in trace["traceEvents"]:
        kind = str(event.get("cat", "")).lower()
        if event.get("ph") == "X" and kind in (
            "kernel",
            "gpu_memcpy",
            "gpu_memset",
            "memcpy",
            "memset",
        ):
            begin, length = (int(Fraction(event[key]) * 1000) for key in ("ts", "dur"))
            device = event["args"].get("device", event["pid"])
            by_device.setdefault(device, []).append((begin, begin + length))
    found = {one.device: one for one in stepscope.open(path).overview_page().window.devices}
    for device, spans in by_device.items():
        one = found[f"GPU:{device}"]
        assert one.events == len(spans)
        assert one.busy_ns == sum(end - begin for begin, end in _merged(spans))
        assert one.span_ns == max(end for _, end in spans) - min(begin for begin, _ in spans)


def _merged(spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    begin, end = 0, 0
    for first, last in sorted(spans):
        if first > end:
            yield begin, end
            begin, end = first, last
        end = max(end, last)
    yield begin, end


def _windows(name: str) -> tuple[DeviceUsage, ...]:
    return stepscope.open(FILES / name).overview_page().window.devices


def _times(one: DeviceUsage) -> list[int]:
    return [
        one.span_ns,
        one.busy_ns,
        one.compute_ns,
        one.communication_ns,
        one.exposed_communication_ns,
        one.copy_ns,
        one.exposed_copy_ns,
    ]


def _row(name: str, one: DeviceUsage) -> str:
    label = re.sub(r"\.json.*", "", name.rpartition("/")[2])[:24]
    times = "".join(f"{time / 1e6:>12.6f}" for time in _times(one))
    return f"{label:<24} {one.host[:6]:<6} {one.events:>6} {one.without_launch:>4}{times}"


def _ns(milliseconds: str) -> int:
    return int(Fraction(milliseconds) * 1_000_000)
