"""Hostile structures of each kind of file, built by hand: time, memory and answer.

    python -m bench.structures [xspace kineto …] [--count 8000]

Each structure obeys its format's grammar, and shares, nests, repeats or multiplies one thing. It is
read, and asked for advice and by every tool, in a process of its own, with ``--count`` parts and
with half of them. The table has processor time and memory of reading and of the answers, the growth
of their time from the half to the whole, and the answer. Marks name structures whose reading takes
more than 2 s or 300 MB for each MB, and structures whose time is not linear.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import gzip
import io
import json
import multiprocessing
import pickle
import resource
import sqlite3
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from bench.doubling import MAX_RATIO, peak_mb
from stepscope.analysis import TOOLS
from stepscope.errors import StepscopeError
from stepscope.schema import names
from stepscope.session import open
from stepscope.wire import write as wire
from tests.profiles import Event, Kind, gpu, host, line, ref, space, worked_example
from tests.profiles.hlo import f32, instruction, metadata_plane, program, tuple_of
from tests.unit.formats.nccl.dumps import dump, entry
from tests.unit.formats.nsight.export import call, export, kernel, range_
from tests.unit.formats.rocprof.files import kernel_csv, rocpd, run
from tests.unit.formats.stacks import files as stacks
from tests.unit.formats.torch_memory.snapshot import block, event, segment, training

Build = Callable[[Path, int], Path]
_S_PER_MB, _MB_PER_MB = 2.0, 300.0
# Shorter answers say nothing about growth.
_LEAST_S: Final = 0.5
# A file costs its own reading, so a pod has fewer of them than other structures have parts.
_EACH_FILE: Final = 60
_ADDRESS_SPACE_BYTES: Final = 6 << 30
_CPU_SECONDS: Final = 60
_FAMILIES: Final[dict[str, dict[str, Build]]] = {}


def _file(family: str, title: str, name: str) -> Callable[[Callable[[int], Any]], None]:
    """Register what makes the bytes of a file; texts and values of JSON are written as such."""

    def add(make: Callable[[int], Any]) -> None:
        def build(folder: Path, count: int) -> Path:
            data = make(count)
            if not isinstance(data, bytes):
                data = (data if isinstance(data, str) else json.dumps(data)).encode()
            path = folder / name
            path.write_bytes(data)
            return path

        _FAMILIES.setdefault(family, {})[title] = build

    return add


def _folder(family: str, title: str) -> Callable[[Build], None]:
    """Register what writes files into a folder, and returns the path to open."""
    return lambda build: _FAMILIES.setdefault(family, {}).__setitem__(title, build)


# --------------------------------------------------------------------------------- XSpace


def _xspace() -> None:
    def add(title: str, make: Callable[[int], Iterable[Any]]) -> None:
        _file("xspace", title, "a.xplane.pb")(lambda n: space(*make(n)))

    def calls(n: int, **stats: Any) -> list[Event]:
        return [Event("f", k, 0.5, stats) for k in range(n)]

    add("intervals that all enclose each other", lambda n: [host(line("t",
        *(Event(f"f{k % 9}", k, 2 * n - 2 * k) for k in range(n))))])  # fmt: skip
    add("everything at one moment", lambda n: [host(line("t", *(Event(f"f{k % 9}", 5, 0) for
        k in range(n))))])  # fmt: skip
    add("intervals that cross", lambda n: [host(line("t", *(Event("f", k, n) for k in range(n))))])
    add("one producer and consumer id for all", lambda n: [host(line("t", *calls(n, _pt=1,
        _p=7, _ct=1, _c=7)))])  # fmt: skip
    add("one correlation id for all", lambda n: [host(line("t", *calls(n // 2,
        correlation_id=3))), gpu(0, line("Stream #1", *(Event("k", k, 1, {"correlation_id":
        3}) for k in range(n // 2))))])  # fmt: skip
    add("a step for each of as many ops", lambda n: [host(line("t", *(Event("train", 9 * k,
        9, {"step_num": k}) for k in range(n // 2))), line("u", *(Event(f"op{k}:MatMul", 9 *
        k, 5) for k in range(n // 2))))])  # fmt: skip
    add("steps that are all one step", lambda n: [host(line("t", *(Event("train", k, 9,
        {"step_num": 1, "_r": 1}) for k in range(n))))])  # fmt: skip
    add("one scope of a thousand levels", lambda n: [host(line("t", *calls(n,
        tf_op=ref("/".join(["layer"] * (n // 8)) + ":MatMul"))))])  # fmt: skip
    add("a name for each event", lambda n: [host(line("t",
        *(Event(f"void f{k}<{'a<' * 9}{'>' * 9}>()", k, 1) for k in range(n))))])  # fmt: skip
    add("a call with all statistics", lambda n: [host(line("t", Event("f", 0, 1, {f"s{k}": k
        for k in range(n)})))])  # fmt: skip
    add("kernels of one name and all launches", lambda n: [gpu(0, *(line(f"Stream #{s}",
        *(Event("k", k, n, {"group_id": k}) for k in range(n // 8)), id=s) for s in
        range(8)))])  # fmt: skip
    add("input pipelines in pipelines", lambda n: [host(line("t",
        *(Event("Iterator::Root::Map", k, 2 * n - 2 * k, {"id": k, "parent_id": max(k - 1,
        0)}) for k in range(n))))])  # fmt: skip


# ----------------------------------------------------------------------------- JSON traces


def _x(name: str, ts: float, dur: float, cat: str = "cpu_op", **more: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur, **more}


def _kineto() -> None:
    def add(title: str, make: Callable[[int], list[Any]]) -> None:
        _file("kineto", title, "a.pt.trace.json")(
            lambda n: {"schemaVersion": 1, "traceEvents": make(n)}
        )

    def kernels(n: int, **args: Any) -> list[Any]:
        place = {"device": 0, "stream": 7, **args}
        return [_x("k", 10 + k, 5, "kernel", args={**place}) for k in range(n)]

    def launches(n: int, number: int) -> list[Any]:
        return [
            _x("cudaLaunchKernel", k, 1, "cuda_runtime", args={"correlation": number})
            for k in range(n)
        ]

    add("one correlation for all", lambda n: [*launches(n // 2, 3), *kernels(n // 2,
        correlation=3)])  # fmt: skip
    add("calls in calls", lambda n: [_x("f", k, 2 * n - 2 * k) for k in range(n)])
    add("Python calls, each its own parent", lambda n: [_x("a.py(1): f", k, 2 * n - 2 * k,
        "python_function", args={"Python id": k, "Python parent id": k})
        for k in range(n)])  # fmt: skip
    add("flows of one id", lambda n: [{"ph": "sf"[k % 2], "id": 1, "cat": "ac2g", "name":
        "ac2g", "pid": 1, "tid": 1, "ts": k, "bp": "e"} for k in range(n)])  # fmt: skip
    add("shapes of many dimensions", lambda n: [_x("aten::mm", k, 1, args={"Input Dims":
        [[1] * (n // 20)] * 2}) for k in range(20)])  # fmt: skip
    add("a group of all ranks in each call", lambda n: [_x("record_param_comms", k, 1,
        args={"Process Group Ranks": str(list(range(n // 50)))[:-1] + ", ...]",
        "Group size": 1 << 40, "Collective name": "allreduce"}) for k in range(50)])  # fmt: skip
    add("stacks of all calls in each call", lambda n: [_x("aten::mm", k, 1,
        args={"Call stack": ";".join(f"a.py({j}): f" for j in range(n // 50))}) for k in
        range(50)])  # fmt: skip
    add("one block allocated again and again", lambda n: [{"ph": "i", "name": "[memory]",
        "pid": 1, "tid": 1, "ts": k, "s": "t", "args": {"Addr": 4096, "Bytes": 1 << 40,
        "Device Type": 1, "Device Id": 0, "Total Allocated": k}} for k in range(n)])  # fmt: skip
    add("steps in steps", lambda n: [*(_x(f"ProfilerStep#{k}", k, 2 * n - 2 * k,
        "user_annotation") for k in range(n // 2)), *kernels(n // 2)])  # fmt: skip
    add("arguments in arguments", lambda n: [_x("f", 1, 1, args={"a": json.loads("[" * 400 +
        "]" * 400)}) for _ in range(n // 100)])  # fmt: skip
    add("kernels that overlap on one stream", lambda n: [
        _x("k", k, n, "kernel", args={"device": 0, "stream": 7}) for k in range(n)])  # fmt: skip


def _chrome() -> None:
    def add(title: str, make: Callable[[int], list[Any]]) -> None:
        _file("chrome", title, "a.trace.json")(
            lambda n: {"traceEvents": make(n), "displayTimeUnit": "ms"}
        )

    def marks(phases: str, n: int, **more: Any) -> list[Any]:
        return [
            {"ph": phases[k % len(phases)], "name": "f", "pid": 1, "tid": 1, "ts": k, **more}
            for k in range(n)
        ]

    add("begins without ends", lambda n: marks("B", n))
    add("ends without begins", lambda n: marks("E", n))
    add("begins, then ends", lambda n: sorted(marks("BE", n), key=lambda mark: str(mark["ph"])))
    add("asynchronous work of one id", lambda n: marks("bbe", n, cat="a", id=5))
    add("counters of many series", lambda n: [{"ph": "C", "name": "c", "pid": 1, "ts": k,
        "args": {f"s{j}": j for j in range(n // 20)}} for k in range(20)])  # fmt: skip
    add("a process for each event", lambda n: (marks("X", n // 8, dur=1) + [{"ph": "X",
        "name": "f", "pid": k, "tid": k, "ts": k, "dur": 1} for k in range(n // 8)]))  # fmt: skip
    add("one track named again and again", lambda n: ([{"ph": "M", "name": "thread_name",
        "pid": 1, "tid": 1, "args": {"name": f"t{k}"}} for k in range(n)] + marks("X", 9,
        dur=1)))  # fmt: skip
    add("flows of one id", lambda n: marks("stf", n, id=6, cat="f") + marks("X", n, dur=1))
    add("times of 1e300", lambda n: [_x("f", 1e300 * (k % 2), -1e300) for k in range(n)])
    add(
        "texts as times",
        lambda n: [
            _x("f", 1, 1) | {"ts": "9" * 300, "dur": "-1", "tid": str(k % 9)} for k in range(n // 8)
        ],
    )
    _file("chrome", "an array without end", "a.trace.json")(
        lambda n: "[" + ",".join(json.dumps(mark) for mark in marks("BE", n)) + ","
    )
    _file("chrome", "a stack frame for each event, each on the last", "a.trace.json")(lambda n: {
        "traceEvents": marks("X", n // 2, dur=1, sf=n // 2 - 1),
        "stackFrames": {str(k): {"name": "f", "parent": str(k - 1)} for k in range(n // 2)},
    })  # fmt: skip


# -------------------------------------------------------------------------------- programs


def _hlo() -> None:
    def add(title: str, make: Callable[[int], bytes]) -> None:
        def recorded(n: int) -> bytes:
            kinds = {"fusion.1": Kind(stats={"hlo_op": "fusion.1", "program_id": 7})}
            ops = [Event("fusion.1", 10 * k, 9, {"hlo_module": "jit_f"}) for k in range(9)]
            return space(metadata_plane(("jit_f", 7, make(n))), gpu(0, line("XLA Ops", *ops),
                         kinds=kinds))  # fmt: skip

        _file("hlo", title, "a.xplane.pb")(recorded)

    first = instruction("fusion.1", "parameter", f32(8))

    def chain(n: int, opcode: str = "add", width: int = 1) -> list[Any]:
        made = [first]
        for k in range(n):
            last = made[-1].name
            made.append(instruction(f"op.{k}", opcode, f32(8), *[last] * width))
        return made

    def nested(n: int, calls: int, opcode: str) -> bytes:
        bodies = {"b0": [instruction("p0", "parameter", f32(8))]}
        for k in range(1, n):
            bodies[f"b{k}"] = [
                instruction(f"c{k}.{j}", opcode, f32(8), calls=[f"b{k - 1}"]) for j in range(calls)
            ]
        entry_ = [instruction("fusion.1", opcode, f32(8), calls=[f"b{n - 1}"])]
        return program("jit_f", entry_, bodies=bodies)  # fmt: skip

    def wide(n: int) -> bytes:
        takes = [instruction(f"p.{k}", "parameter", f32(8)) for k in range(n // 2)]
        ops = [
            instruction(f"t.{k}", "tuple", f32(8), *(f"p.{j}" for j in range(n // 8)))
            for k in range(8)
        ]
        return program("jit_f", [*takes, *ops, first])  # fmt: skip

    def shaped(n: int) -> bytes:
        shape = f32(8)
        for _ in range(90):
            shape = tuple_of(shape)
        ops = [instruction(f"op.{k}", "parameter", shape) for k in range(n // 50)]
        return program("jit_f", [*ops, first])

    add("a chain of ops", lambda n: program("jit_f", chain(n)))
    add("a chain of copies", lambda n: program("jit_f", chain(n, "copy")))
    add("ops that read one op eight times", lambda n: program("jit_f", chain(n, "concatenate", 8)))
    add("tuples of all arguments", wide)
    add("fusions of two of a fusion of two", lambda n: nested(min(n // 60, 100), 2, "fusion"))
    add("loops in loops", lambda n: nested(n // 4, 1, "while"))
    add("calls in calls", lambda n: nested(n // 4, 1, "call"))
    add("tuples in tuples", shaped)
    add("a stack of all lines for each op", lambda n: program("jit_f",
        [instruction(f"op.{k}", "parameter", f32(8), stack=[("a.py", j, "f") for j in
        range(n // 50)]) for k in range(20)] + [first]))  # fmt: skip
    add("an array of 2^600 elements", lambda n: program("jit_f", [first,
        *(instruction(f"op.{k}", "add", f32(*[1 << 60] * 10), "fusion.1") for k in range(n
        // 8))]))  # fmt: skip
    add("one name for all ops", lambda n: program("jit_f", [*chain(9), *(
        instruction("op.1", "add", f32(8), "fusion.1") for _ in range(n))]))  # fmt: skip


# ---------------------------------------------------------------------------------- stacks


def _pprof() -> None:
    def add(title: str, make: Callable[[int], bytes]) -> None:
        texts = b"".join(
            wire.blob(6, one, always=True) for one in (b"", b"samples", b"count", b"f")
        )
        kind = wire.blob(1, wire.number(1, 1) + wire.number(2, 2))
        _file("pprof", title, "a.pb")(lambda n: kind + texts + make(n))

    def place(k: int, called: int = 1) -> bytes:
        return wire.blob(4, wire.number(1, k) + wire.blob(4, wire.number(1, called)))

    def function(k: int = 1) -> bytes:
        return wire.blob(5, wire.number(1, k) + wire.number(2, 3))

    def sample(*places: int, more: bytes = b"") -> bytes:
        listed = wire.blob(1, b"".join(map(wire.varint, places)))
        return wire.blob(2, listed + wire.blob(2, b"\1") + more)

    def places(n: int) -> bytes:
        return function() + b"".join(place(k) for k in range(1, n + 1))

    add("one deep stack", lambda n: places(n) + sample(*range(1, n + 1)))
    add("deep stacks in turn", lambda n: places(2) + b"".join(sample(*[1 + k % 2] * 300) for
        k in range(n // 50)))  # fmt: skip
    add("stacks that grow", lambda n: places(1) + b"".join(sample(*[1] * k) for k in
        range(int(n**0.5) * 3)))  # fmt: skip
    add("samples of nothing", lambda n: places(1) + sample() * n)
    add("places that do not exist", lambda n: b"".join(sample(k) for k in range(1, n)))
    add("one place defined again and again", lambda n: places(1) + place(1) * n + sample(1))
    add("functions of one id", lambda n: function() * n + place(1) + sample(1) * 9)
    add("labels without end", lambda n: (places(1) + sample(1, more=wire.blob(3,
        wire.number(1, 3) + wire.number(2, 3)) * n)))  # fmt: skip
    add("units without end", lambda n: (places(1) + wire.blob(1, wire.number(1, 1) +
        wire.number(2, 2)) * n + sample(1) * 9))  # fmt: skip
    add("memory mapped again and again", lambda n: (places(1) + wire.blob(3, wire.number(1,
        1) + wire.number(2, 1) + wire.number(3, 1 << 60)) * n + sample(1) * 9))  # fmt: skip
    add("a text for each sample", lambda n: b"".join(wire.blob(6, b"g%d" % k) + wire.blob(5,
        wire.number(1, k) + wire.number(2, k)) + place(k, k) + sample(k) for k in range(4,
        n)))  # fmt: skip


def _stacks() -> None:
    two = {"frames": [{"name": "f"}, {"name": "g"}]}

    def text(title: str, make: Callable[[int], str]) -> None:
        _file("stacks", title, "a.collapsed")(make)

    def scoped(title: str, make: Callable[[int], dict[str, Any]]) -> None:
        _file("stacks", title, "a.speedscope.json")(lambda n: stacks.speedscope() | make(n))

    def firefox(title: str, make: Callable[[int], dict[str, Any]]) -> None:
        def thread(n: int) -> dict[str, Any]:
            table = {
                "stringArray": ["f"],
                "frameTable": {"func": [0], "line": [1]},
                "funcTable": {"name": [0], "fileName": [0]},
                "tid": 1,
                "name": "main",
            }
            return {"meta": {"interval": 1}, "threads": [table | make(n)]}  # fmt: skip

        _file("stacks", title, "a.json")(thread)

    def evented(n: int, events: list[dict[str, Any]]) -> dict[str, Any]:
        profile = {
            "type": "evented",
            "name": "t",
            "unit": "microseconds",
            "startValue": 0,
            "endValue": n,
            "events": events,
        }
        return {"profiles": [profile], "shared": two}  # fmt: skip

    def sampled(samples: list[Any], weights: list[Any]) -> dict[str, Any]:
        profile = {
            "type": "sampled",
            "name": "t",
            "unit": "microseconds",
            "startValue": 0,
            "endValue": 9,
            "samples": samples,
            "weights": weights,
        }
        return {"profiles": [profile], "shared": two}  # fmt: skip

    def table(prefix: list[Any], samples: list[int]) -> dict[str, Any]:
        return {"samples": {"stack": samples, "time": list(range(len(samples)))},
                "stackTable": {"prefix": prefix, "frame": [0] * len(prefix)}}  # fmt: skip

    text("one line of many frames", lambda n: ";".join(["f"] * n * 9) + " 1\n")
    text("counts of 10^18", lambda n: "".join(f"a;b{k} {10**18}\n" for k in range(n)))
    text("stacks that grow", lambda n: "".join("f;" * k + "g 1\n" for k in range(1,
        int(n**0.5) * 8)))  # fmt: skip
    text("deep stacks in turn", lambda n: "".join(";".join([f"f{k % 2}"] * 300) + " 1\n" for
        k in range(n // 8)))  # fmt: skip
    text("a name for each sample", lambda n: "".join(f"m;f{k} (a{k}.py:{k}) 1\n" for k in range(n)))
    scoped("opened and never closed", lambda n: evented(n, [{"type": "O", "frame": 0, "at":
        k} for k in range(n)]))  # fmt: skip
    scoped("closed in the wrong order", lambda n: evented(n, [{"type": "OC"[k >= n // 2],
        "frame": k % 2, "at": k} for k in range(n)]))  # fmt: skip
    scoped("deep samples in turn", lambda n: sampled([[k % 2] * 400 for k in range(n //
        50)], [1] * (n // 50)))  # fmt: skip
    scoped("frames that do not exist", lambda n: sampled([[k] for k in range(n)], [1] * n))
    scoped("a profile for each sample", lambda n: {"profiles": [sampled([[0]],
        [1])["profiles"][0] for _ in range(n // 16)]})  # fmt: skip
    firefox("stacks in a circle", lambda n: table([(k + 1) % n for k in range(n)], [0, 1] * 99))
    firefox("a stack on itself", lambda n: table(list(range(n)), list(range(n))))
    firefox("stacks that grow, in turn", lambda n: table(
        [None, *range(999)], [(k * 7) % 1000 for k in range(n // 8)]))  # fmt: skip


# ------------------------------------------------------------------------------- databases


def _nsight() -> None:
    def add(title: str, **tables: Callable[[int], Iterable[Any]]) -> None:
        texts = ("gemm", "cudaLaunchKernel_v7000", "forward")

        def build(folder: Path, n: int) -> Path:
            rows = {name: make(n) for name, make in tables.items()}
            return export(folder / "a.sqlite", texts, **rows)

        _folder("nsight", title)(build)

    def changed(title: str, statements: str) -> None:
        def build(folder: Path, n: int) -> Path:
            rows = [kernel(9 * k, 9 * k + 5, 1, k) for k in range(n // 8)]
            path = export(folder / "a.sqlite", ("gemm", "call"), kernels=rows)
            with contextlib.closing(sqlite3.connect(path)) as database:
                database.executescript(statements.replace("COUNT", str(n)))
            return path

        _folder("nsight", title)(build)

    add("one launch for all kernels", calls=lambda n: [call(k, k + 1, 2, 3) for k in range(n
        // 2)], kernels=lambda n: [kernel(k, k + 5, 1, 3) for k in range(n // 2)])  # fmt: skip
    add("kernels that enclose each other", kernels=lambda n: [kernel(k, 2 * n - k, 1, k) for
        k in range(n)])  # fmt: skip
    add("ranges in ranges", ranges=lambda n: [range_(k, 2 * n - k, f"step {k}") for k in range(n)])
    add("ranges without ends", ranges=lambda n: [range_(k, None, "step") for k in range(n)])
    add("names that do not exist", kernels=lambda n: [kernel(k, k + 1, k, k) for k in range(n)])
    add("times of 2^62", kernels=lambda n: [kernel(k << 49, (1 << 62) + k, 1, k) for k in range(n)])
    add(
        "texts as numbers",
        kernels=lambda n: [
            {**kernel(1, 2, 1, k), "start": "x" * 99, "end": b"\0" * 9} for k in range(n // 4)
        ],
    )
    add("a thousand columns", kernels=lambda n: [kernel(9 * k, 9 * k + 5, 1, k, **{f"c{j}":
        j for j in range(900)}) for k in range(n // 250)])  # fmt: skip
    add("a stream for each kernel", kernels=lambda n: [kernel(k, k + 5, 1, k, streamId=k)
        for k in range(n // 8)])  # fmt: skip
    add("graphs of one kernel", graphs=lambda n: [{"start": k, "end": 2 * n, "deviceId": 0,
        "graphId": 1, "correlationId": 1, "streamId": 7} for k in range(n)])  # fmt: skip
    changed("a view without end as a table",
        "ALTER TABLE StringIds RENAME TO s; CREATE VIEW "
        "StringIds AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) "
        "SELECT id, 'gemm' AS value FROM n;")  # fmt: skip
    changed("a view of a product",
        "ALTER TABLE StringIds RENAME TO s; CREATE VIEW StringIds AS "
        "SELECT a.start AS id, 'gemm' AS value FROM CUPTI_ACTIVITY_KIND_KERNEL a, "
        "CUPTI_ACTIVITY_KIND_KERNEL b, CUPTI_ACTIVITY_KIND_KERNEL c;")  # fmt: skip
    changed("a text of 500 MB in a view",
        "ALTER TABLE StringIds RENAME TO s; CREATE VIEW StringIds "
        "AS SELECT 1 AS id, hex(zeroblob(250000000)) AS value;")  # fmt: skip
    changed("many empty tables", "".join(
        f"CREATE TABLE t{k}(a);" for k in range(500)))  # fmt: skip


def _rocprof() -> None:
    def add(title: str, change: Callable[[dict[str, Any], int], None]) -> None:
        def made(n: int) -> dict[str, Any]:
            value = run()
            change(value, n)
            return value

        _folder("rocprof", f"{title}, database")(lambda folder, n: rocpd(folder / "a.db", made(n)))
        _file("rocprof", f"{title}, JSON", "a.json")(lambda n: {"rocprofiler-sdk-tool": [made(n)]})

    def times(part: str, count: int, **change: Callable[[int], Any]) -> Any:
        def apply(value: dict[str, Any], n: int) -> None:
            records = value["buffer_records"]
            (first,) = records[part]
            records[part] = [
                first | {key: make(k) for key, make in change.items()} for k in range(n // count)
            ]

        return apply  # fmt: skip

    add("one dispatch for all kernels", times("kernel_dispatch", 4))
    add("kernels that enclose each other", times("kernel_dispatch", 4,
        start_timestamp=lambda k: k, end_timestamp=lambda k: 10**7 - k))  # fmt: skip
    add("calls in calls", times("hip_api", 2, start_timestamp=lambda k: k,
        end_timestamp=lambda k: 10**7 - k))  # fmt: skip
    add("ranges that begin at once", times("marker_api", 2, start_timestamp=lambda k: 5))
    add("copies of 2^60 bytes", times("memory_copy", 4, bytes=lambda k: 1 << 60))
    add("agents without end", lambda value, n: value.update(agents=[value["agents"][1] |
        {"id": {"handle": 101 + k}, "gpu_index": k} for k in range(n // 8)]))  # fmt: skip


def _csv() -> None:
    def add(title: str, make: Callable[[str, list[str], int], str]) -> None:
        def made(n: int) -> str:
            with tempfile.TemporaryDirectory() as folder:
                text = kernel_csv(Path(folder, "a.csv")).read_text()
            header, row = text.splitlines()
            (cells,) = csv.reader([row])
            return make(header, cells, n)

        _file("csv", title, "a_kernel_trace.csv")(made)

    def written(header: str, rows: Iterable[list[Any]]) -> str:
        out = io.StringIO()
        csv.writer(out).writerows(rows)
        return f"{header}\n{out.getvalue()}"

    def rows(title: str, place: int, make: Callable[[int, int], Any]) -> None:
        add(title, lambda header, cells, n: written(header, (
            [*cells[:place], make(k, n), *cells[place + 1 :]] for k in range(n))))  # fmt: skip

    rows("all at one moment", 9, lambda k, n: 2_000)
    rows("kernels that enclose each other", 10, lambda k, n: 10**9 - k)
    rows("a name for each kernel", 7, lambda k, n: f"f{k}<{'a<' * 9}>")
    rows("a queue for each kernel", 2, lambda k, n: k)
    rows("numbers of a hundred digits", 9, lambda k, n: "9" * 100)
    rows("an agent for each kernel", 1, lambda k, n: f"Agent {k}")
    add("a header of many columns", lambda header, cells, n: written(header +
        "".join(f",c{k}" for k in range(n)), [cells] * 9))  # fmt: skip
    add("a row of many cells", lambda header, cells, n: written(header, [cells, ["1"] * 9 * n]))
    add("a quote without end", lambda header, cells, n: f'{header}\n"' + ",".join(cells * n))
    add("quotes", lambda header, cells, n: f"{header}\n" + '"' * 99 * n)
    add("lines without cells", lambda header, cells, n: written(header, [cells]) + "\n" * 99 * n)


# -------------------------------------------------------------------- pickles and their JSON


def _pickles() -> None:
    def memory(title: str, make: Callable[[int], dict[str, Any]]) -> None:
        _file("pickle", title, "a.pickle")(lambda n: pickle.dumps(training() | make(n), 4))

    def flight(title: str, make: Callable[[int], Any]) -> None:
        _file("pickle", f"{title}, collectives", "nccl_trace_rank_0")(
            lambda n: pickle.dumps(make(n), 2))  # fmt: skip

    def traced(events: Iterable[Any]) -> dict[str, Any]:
        return {"device_traces": [list(events)]}

    def shared(n: int) -> dict[str, Any]:
        frames = [{"filename": "a.py", "line": k, "name": "f"} for k in range(n // 40)]
        return traced(event("alloc", k, 512, k) | {"frames": frames} for k in range(n // 40))

    def circle(n: int) -> dict[str, Any]:
        frames: list[Any] = []
        frames.append({"filename": frames, "line": frames, "name": frames})
        return traced(event("alloc", k, 512, k) | {"frames": frames} for k in range(n // 4))

    memory("one block allocated again and again", lambda n: traced(event("alloc", 4096, 512,
        k, "a.py:1 f") for k in range(n // 2)))  # fmt: skip
    memory("freed and never allocated", lambda n: traced(event("free_completed", k, 512, k)
        for k in range(n // 2)))  # fmt: skip
    memory("blocks that overlap", lambda n: traced(event("alloc", k, 1 << 40, k) for k in
        range(n // 2)))  # fmt: skip
    memory("segments that overlap", lambda n: {"segments": [segment(k, 1 << 40, block(0, 1
        << 39, "active_allocated")) for k in range(n // 8)]})  # fmt: skip
    memory("a segment of many blocks", lambda n: {"segments": [segment(0, 1 << 40,
        *(block(512 * k, 512, "active_allocated") for k in range(n // 2)))]})  # fmt: skip
    memory("every stack of all frames, shared", shared)
    memory("frames in a circle", circle)
    memory("a device for each event", lambda n: {"device_traces": [[event("alloc", 1, 512,
        k)] for k in range(n // 4)]})  # fmt: skip
    memory("memory that ran out again and again", lambda n: traced(event("oom", 0, 1 << 50,
        k, "a.py:1 f", device_free=1) for k in range(n // 2)))  # fmt: skip
    memory("sizes below zero", lambda n: traced(event("alloc", -k, -(1 << 62), -k) for k in
        range(n // 2)))  # fmt: skip
    flight("one call again and again", lambda n: dump([entry(1, 1, "started")] * (n // 8)))
    flight("a group for each call", lambda n: dump([entry(k, k, process_group=(str(k), "g"))
        for k in range(n // 16)], 2, **{str(k): [0] for k in range(n // 16)}))  # fmt: skip
    flight("a group of 2^40 ranks", lambda n: (dump([entry(k, k) for k in range(n // 16)],
        world=2) | {"pg_config": {str(k): {"name": str(k), "desc": "", "ranks":
        f"[0, {1 << 40}]"} for k in range(n)}}))  # fmt: skip
    flight("shapes of many dimensions", lambda n: dump([entry(k, k, input_sizes=[[1] * 99] *
        9) for k in range(n // 64)]))  # fmt: skip
    flight("numbers as texts", lambda n: dump([entry(k, k) | {"time_created_ns": "9" * 99}
        for k in range(n // 16)]))  # fmt: skip
    flight("times of 2^300", lambda n: dump(
        [entry(k, k) | {"time_created_ns": 1 << 300} for k in range(n // 16)]))  # fmt: skip


# ------------------------------------------------------------------------ logs, packed, pods


def _log_line(chunk: Any, rows: Any, values: Any = None) -> bytes:
    found = {"chunk": chunk, "rows": rows, "values": {} if values is None else values}
    rest = json.dumps(found)[1:].encode()
    return names.STEP_LOG_HEAD + b'"%08x",' % zlib.crc32(rest) + rest + b"\n"


def _logs() -> None:
    def add(title: str, make: Callable[[int], Iterable[bytes]]) -> None:
        _file("step log", title, "a.steps")(lambda n: b"".join(make(n)))

    def whose(k: int = 0, host: str = "h") -> dict[str, Any]:
        place = {"host": host, "rank": k, "process": 1}
        return {**place, "begin_ns": 10**18 + 10**9 * k, "first": 0, "memory": 1 << 30}

    def steps(n: int, length: int = 900) -> dict[str, list[int]]:
        return {"steps": [1] * n, "begin_us": [1000 * k for k in range(n)],
                "sum_us": [length] * n, "max_us": [length] * n, "wait_us": [1] * n}  # fmt: skip

    add("steps that overlap", lambda n: (_log_line(whose(), steps(99, 10**9)) for _ in
        range(n // 99)))  # fmt: skip
    add("one chunk again and again", lambda n: [_log_line(whose(), steps(1))] * (n // 4))
    add("a process for each chunk", lambda n: (_log_line(whose(k), steps(1)) for k in
        range(n // 4)))  # fmt: skip
    add("a host for each chunk", lambda n: (_log_line(whose(0, f"h{k}"), steps(1)) for k in
        range(n // 4)))  # fmt: skip
    add("a value for each chunk", lambda n: (_log_line(whose(k), steps(1), {f"v{k}": [[0,
        1.5]]}) for k in range(n // 4)))  # fmt: skip
    add("values without end", lambda n: [_log_line(whose(), steps(9), {f"v{k}": [[0, 1.5]]
        for k in range(n)})])  # fmt: skip
    add("rows of 2^40 steps", lambda n: (_log_line(whose(), steps(9) | {"steps": [1 << 40] *
        9}) for _ in range(n // 9)))  # fmt: skip
    add("columns of unequal lengths", lambda n: (_log_line(whose(), steps(9) | {"wait_us":
        [1] * 99}) for _ in range(n // 99)))  # fmt: skip
    add("lists as numbers", lambda n: (_log_line(whose(), steps(3) | {"sum_us": [[1]] * 3})
        for _ in range(n // 9)))  # fmt: skip
    add("a line without end", lambda n: [_log_line(whose(), steps(20 * n))[:-9]])
    add("lines that are torn", lambda n: [_log_line(whose(), steps(1))[:-9] + b"\n"] * (n // 4)
        + [_log_line(whose(), steps(9))])  # fmt: skip


def _packed() -> None:
    def add(title: str, name: str, make: Callable[[int], bytes]) -> None:
        _file("gzip", title, name)(make)

    small = worked_example(gpu=True)

    def layers(n: int) -> bytes:
        data = small
        for _ in range(n // 100):
            data = gzip.compress(data, 1)
        return data

    space_name, json_name = "a.xplane.pb.gz", "a.trace.json.gz"
    add("gzip in gzip", space_name, layers)
    add("empty members", space_name, lambda n: gzip.compress(b"") * n + gzip.compress(small))
    add("a member for each byte", space_name, lambda n: b"".join(gzip.compress(small[k : k +
        1]) for k in range(min(n, len(small)))))  # fmt: skip
    add("blanks", json_name, lambda n: gzip.compress(b"[" + b" " * n * 20_000, 9))
    add("zeros as planes", space_name, lambda n: gzip.compress(b"\x0a\x00" * n * 5_000, 9))
    add("one event again and again", json_name, lambda n: gzip.compress(b'{"traceEvents":['
        + b'{"ph":"X","name":"f","pid":1,"tid":1,"ts":1,"dur":1},' * n * 2
        + b"{}]}", 9))  # fmt: skip
    add("a text of blanks", json_name, lambda n:
        gzip.compress(b'{"traceEvents":[{"ph":"X","ts":1,"dur":1,"name":"' + b"x" * n *
        20_000 + b'"}]}', 9))  # fmt: skip
    add("a torn member", space_name, lambda n: gzip.compress(small)[:-9] + b"\0" * n)
    add("a header without end", space_name, lambda n: b"\x1f\x8b\x08\x08" + bytes(6) + b"n"
        * 99 * n)  # fmt: skip
    add("rubbish behind it", space_name, lambda n: gzip.compress(small) + b"\x1f\x8b" * 99 * n)
    add("a stack of blanks", "a.collapsed.gz", lambda n: gzip.compress(
        b"f;" * n * 5_000 + b"f 1\n", 9))  # fmt: skip


def _run_folder(folder: Path) -> Path:
    at = folder / "plugins/profile/r"
    at.mkdir(parents=True)
    return at


def _ranks(folder: Path, n: int) -> None:
    for k in range(n // _EACH_FILE):
        value = dump([entry(j, j) for j in range(2)], world=n // _EACH_FILE)
        (folder / f"nccl_trace_rank_{k}").write_bytes(pickle.dumps(value, 2))


def _pods() -> None:
    def add(title: str, write: Callable[[Path, int], None]) -> None:
        def build(folder: Path, n: int) -> Path:
            write(folder, n)
            return folder

        _folder("pod", title)(build)

    small = worked_example(gpu=True, steps=2)

    def hosts(folder: Path, n: int) -> None:
        for k in range(n // _EACH_FILE):
            (_run_folder(folder) if not k else folder / "plugins/profile/r").joinpath(
                f"h{k}.xplane.pb").write_bytes(small)  # fmt: skip

    def empty(folder: Path, n: int) -> None:
        at = _run_folder(folder)
        for k in range(n // 8):
            (at / f"h{k}.xplane.pb").write_bytes(b"")

    def runs(folder: Path, n: int) -> None:
        for k in range(n // _EACH_FILE):
            at = folder / f"plugins/profile/r{k}"
            at.mkdir(parents=True)
            (at / "h.xplane.pb").write_bytes(small)

    def deep(folder: Path, n: int) -> None:
        at = folder
        for _ in range(min(n // 20, 400)):
            at = at / "d"
        at.mkdir(parents=True)
        (at / "h.xplane.pb").write_bytes(small)

    def circle(folder: Path, n: int) -> None:
        at = _run_folder(folder)
        (at / "h.xplane.pb").write_bytes(small)
        for k in range(n // _EACH_FILE):
            (at / f"loop{k}").symlink_to(folder, target_is_directory=True)

    def links(folder: Path, n: int) -> None:
        at = _run_folder(folder)
        (at / "h.xplane.pb").write_bytes(small)
        for k in range(n // _EACH_FILE):
            (at / f"h{k}.xplane.pb").symlink_to(at / "h.xplane.pb")

    def one_rank(folder: Path, n: int) -> None:
        for k in range(n // _EACH_FILE):
            trace = {
                "schemaVersion": 1,
                "distributedInfo": {"rank": 0, "world_size": 1 << 40},
                "traceEvents": [_x("f", 1, 1)],
            }
            (folder / f"h{k}.pt.trace.json").write_text(json.dumps(trace))  # fmt: skip

    def logs(folder: Path, n: int) -> None:
        for k in range(n // _EACH_FILE):
            rows = {key: [1] for key in ("steps", "begin_us", "sum_us", "max_us", "wait_us")}
            owner = {"host": "h", "rank": k, "process": k, "begin_ns": 10**18, "first": 0}
            (folder / f"r{k}.steps").write_bytes(_log_line(owner | {"memory": 1}, rows))

    def mixed(folder: Path, n: int) -> None:
        hosts(folder, n // 4)
        _ranks(folder, n // 4)
        one_rank(folder, n // 4)
        logs(folder, n // 4)

    add("many hosts", hosts)
    add("many empty files", empty)
    add("many runs", runs)
    add("folders in folders", deep)
    add("links to the folder itself", circle)
    add("links to one file", links)
    add("many ranks", _ranks)
    add("many files of one rank", one_rank)
    add("many step logs", logs)
    add("all kinds", mixed)


for _register in (_xspace, _kineto, _chrome, _hlo, _pprof, _stacks, _nsight, _rocprof, _csv,
                  _pickles, _logs, _packed, _pods):  # fmt: skip
    _register()


# --------------------------------------------------------------------------------- measure


def _answer(path: Path, outcome: Any) -> None:
    """Read a recording, ask for advice and every tool; what each took, and the answer."""
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE_BYTES, _ADDRESS_SPACE_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS))
    Path("/proc/self/clear_refs").write_text("5")
    before_mb, began_s, read_s = peak_mb(), time.process_time(), 0.0
    try:
        with open(path) as session:
            events = sum(len(one.space.events.start_ps) for one in session.profile.hosts)
            read_s = time.process_time() - began_s
            read_mb = peak_mb() - before_mb
            answer = f"{events:,} events, {len(session.advice().findings)} findings"
            for tool in TOOLS:
                with contextlib.suppress(StepscopeError):
                    session.run(tool.id)
    except StepscopeError as error:
        answer = f"{error.slug or type(error).__name__}: {error.what}"
        if error.slug == "out-of-memory" or not error.what:
            answer = f"BUG {answer}"
        if not read_s:
            read_s, read_mb = time.process_time() - began_s, peak_mb() - before_mb
    except BaseException as error:
        answer, read_s = f"BUG {type(error).__name__}: {error}", read_s or float("nan")
        read_mb = peak_mb() - before_mb
    took_s, took_mb = time.process_time() - began_s - read_s, peak_mb() - before_mb
    outcome.send((read_s, read_mb, took_s, took_mb, " ".join(answer.split())))


def measured(path: Path) -> tuple[float, float, float, float, str]:
    """Seconds and megabytes of reading, then of advice, and the answer."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(path, there))
    process.start()
    there.close()
    try:
        found: tuple[float, float, float, float, str] = here.recv()
    except EOFError:
        process.join()
        nan = float("nan")
        found = (nan, nan, nan, nan, f"BUG the process ends with {process.exitcode}")
    process.join()
    return found


def _size_mb(path: Path) -> float:
    files = [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file()]
    return sum(one.stat().st_size for one in files) / 1e6


def _inflated_mb(path: Path) -> float:
    """Return the size of a file after decompression, 64 MB at most."""
    if path.suffix != ".gz":
        return _size_mb(path)
    size = 0
    with contextlib.suppress(OSError, EOFError, zlib.error), gzip.open(path) as file:
        while size < 64 << 20 and (piece := file.read(1 << 20)):
            size += len(piece)
    return max(size / 1e6, _size_mb(path))


def _row(family: str, title: str, build: Build, count: int) -> bool:
    """Print what a structure costs; whether it is within the limits."""
    with tempfile.TemporaryDirectory() as folder:
        few, many = Path(folder, "few"), Path(folder, "many")
        few.mkdir()
        many.mkdir()
        path = build(many, count)
        size_mb, unit_mb = _size_mb(path), max(1.0, _inflated_mb(path))
        read_s, read_mb, took_s, took_mb, answer = measured(path)
        ratio = 1.0
        if took_s + read_s > _LEAST_S:
            before = measured(build(few, count // 2))
            ratio = (took_s + read_s) / (before[0] + before[2])
    marks = [
        *["slow"] * (not read_s <= _S_PER_MB * unit_mb),
        *["large"] * (not max(read_mb, took_mb) <= _MB_PER_MB * unit_mb),
        *["not linear"] * (ratio > MAX_RATIO),
        *["bug"] * answer.startswith("BUG"),
    ]
    print(
        f"{family:9} {title:47} {1e3 * size_mb:8,.0f} {read_s:6.2f} {read_mb:5.0f} "
        f"{took_s:7.2f} {took_mb:5.0f} {ratio:5.2f}  {answer[:76]}"
        + "".join(f" <- {mark}" for mark in marks)
    )
    sys.stdout.flush()
    return not marks


def main() -> int:
    """Print the table; 1 if a structure costs more than its bytes explain."""
    parser = argparse.ArgumentParser(prog="python -m bench.structures", description=__doc__)
    parser.add_argument("only", nargs="*", default=list(_FAMILIES), help=", ".join(_FAMILIES))
    parser.add_argument("--count", type=int, default=8_000, help="parts of each structure")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        # Imports are no part of an answer.
        warm = Path(folder, "host.xplane.pb")
        warm.write_bytes(worked_example(gpu=True, steps=20))
        with open(warm) as session:
            session.advice()
            for tool in TOOLS:
                with contextlib.suppress(StepscopeError):
                    session.run(tool.id)
    columns = f"{'kB':>8} {'read s':>6} {'MB':>5} {'tools s':>7} {'MB':>5} {'ratio':>5}  answer"
    print(f"{'family':9} {'structure':47} {columns}")
    within = [
        _row(family, title, build, given.count)
        for family in given.only
        for title, build in _FAMILIES[family].items()
    ]
    print(f"{len(within)} structures of {len(given.only)} kinds, {within.count(False)} marked")
    return 0 if all(within) else 1


if __name__ == "__main__":
    raise SystemExit(main())
