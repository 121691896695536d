"""Every kind of file that is not a recording is refused with a reason of its own."""

from __future__ import annotations

import gzip
import marshal
import pickle
import tracemalloc
from functools import partial
from pathlib import Path

import pytest

from stepscope.errors import StoreError
from stepscope.store import Miss, find, search
from stepscope.store.identify import examine, host_of, starts_xspace
from tests.profiles import HOSTILE_NAMES, hostile_names, no_events, worked_example

# name, content → slug of the reason
NEAR_MISSES: dict[str, tuple[str, bytes, str]] = {
    "the silent 2 GB failure": ("host.xplane.pb", b"", "empty-file"),
    "a trace whose program ended": ("host.pt.trace.json", b"", "empty-file"),
    "a trace cut within its first bytes": (
        "host.pt.trace.json.gz",
        gzip.compress(b"{}")[:9],
        "not-an-xspace",
    ),
    "a writer at work": ("host.xplane.pb.tmp", b"\x0a\x02", "temporary-file"),
    "a browser at work": ("host.xplane.pb.crdownload", b"\x0a\x02", "temporary-file"),
    "the newer container": ("host.xplane.riegeli", b"\x83\xaf\x70\xd1", "riegeli"),
    "a viewer's tables": ("host.SSTABLE", b"\x00" * 64, "viewer-cache"),
    "a viewer's op stats": ("ALL_HOSTS.op_stats_v2.pb", b"\x0a\x04abcd", "viewer-cache"),
    "a viewer's HLO": ("jit_step.hlo_proto.pb", b"\x0a\x04abcd", "viewer-cache"),
    "no trace, but called one": ("host.trace.json.gz", gzip.compress(b"{}"), "json-file"),
    "TensorFlow 2.2's results": ("host.overview_page.pb", b"\x12\x93", "tool-result"),
    "results as JSON": ("10.0.0.1.input_pipeline.json", b"{}", "tool-result"),
    "TensorBoard's events": ("events.out.tfevents.1.host", b"\x18\0\0\0", "event-file"),
    "Nsight's recording": ("report.nsys-rep", b"\x1f", "nsight-report"),
    "Nsight Compute's report": ("a.ncu-rep", b"NVR\0", "other-profiler"),
    "perf's own file": ("perf.data", b"PERFILE2", "other-profiler"),
    "a Git LFS pointer": (
        "host.xplane.pb",
        b"version https://git-lfs.github.com/spec",
        "lfs-pointer",
    ),
    "a zip": ("profile.pb", b"PK\x03\x04" + b"\0" * 30, "archive"),
    "a login page": ("host.xplane.pb", b"<!DOCTYPE html><html>", "html-page"),
    "a database": ("trace.pb", b"SQLite format 3\0" + b"\0" * 30, "sqlite"),
    "DLProf's database": ("trace.pb", b"SQLite format 3\0 dldb_version", "other-profiler"),
    "nvprof's log": (
        "nvprof.trace.json",
        b"==17== NVPROF is profiling process 17",
        "other-profiler",
    ),
    "nvprof's sums": ("gpu.trace.json", b'"Type","Time(%)","Time","Calls"', "other-profiler"),
    "a model": ("saved_model.pb", b"\x08\x01\x12\x05hello", "not-an-xspace"),
}


@pytest.mark.parametrize("case", NEAR_MISSES)
def test_near_miss_in_a_folder_is_reported_with_reason_and_hint(case: str, tmp_path: Path) -> None:
    name, content, slug = NEAR_MISSES[case]
    (tmp_path / name).write_bytes(content)
    (miss,) = search(tmp_path).misses
    assert (miss.slug, miss.size_bytes) == (slug, len(content))
    assert miss.reason.endswith(".") and miss.hint.endswith(".")


@pytest.mark.parametrize("case", NEAR_MISSES)
def test_near_miss_opened_itself_is_an_error_of_its_kind(case: str, tmp_path: Path) -> None:
    name, content, slug = NEAR_MISSES[case]
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(StoreError) as caught:
        find(path)
    assert caught.value.anchor == slug
    assert str(path) in str(caught.value)


def test_a_name_that_promises_another_format_is_taken_at_its_word(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    path.write_bytes(b"junk")
    with pytest.raises(StoreError, match="may be: Nsight Systems export") as caught:
        find(path)
    assert "tf.profiler" not in caught.value.hint


def test_files_of_other_profilers_are_named_with_what_opens_instead(tmp_path: Path) -> None:
    for name, content, reason, hint in (
        ("a.prof", marshal.dumps({("a.py", 1, "f"): (1, 1, 0.5, 0.5, {})}), "cProfile", "py-spy"),
        ("a.out", b"version: 1\ncreator: yappi\n", "callgrind", "py-spy"),
        ("a.bin", b"\x04\x22\x4d\x18@@\xc0Z@\0\0\xf8\x06memray", "memray", "record"),
        ("a.html", b"\n<!DOCTYPE html>\n<html>", "web page", "the report was made of"),
        ("a.svg", b'<?xml version="1.0"?><!DOCTYPE svg>', "drawing", "speedscope"),
        ("a.json", b'{"start_time": 1, "target_description": "a"}', "pyinstrument", "-r speed"),
        ("b.json", b'{\n "alloc_samples": 3, "args": []}', "Scalene", "py-spy"),
        ("c.json", b'{"schema": "1.1.1-chakra.0.0.4", "nodes": []}', "Chakra", "export_chrome"),
        ("d.json", b"[[17959, 17960, 17961], [[0, 1]]]", "memory timeline", "_dump_snapshot"),
        ("a.pickle", pickle.dumps(tracemalloc.Snapshot((), 1)), "tracemalloc", "record"),
        ("run.pb", b"\n\x11\n\x0f\n\x0d/job:localhost", "RunMetadata", "Timeline("),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(StoreError, match=reason) as caught:
            find(tmp_path / name)
        assert hint in caught.value.hint


def test_a_trace_that_is_empty_or_cut_is_not_blamed_on_other_profilers(tmp_path: Path) -> None:
    for name, content, why in (
        ("a.pt.trace.json", b"", "its program ended before it was written"),
        ("b.json.gz", gzip.compress(b"{}")[:9], "nothing of its 9 bytes inflates"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(StoreError, match=why) as caught:
            find(tmp_path / name)
        assert "TensorFlow" not in str(caught.value) and "First bytes ()" not in str(caught.value)


def test_an_empty_file_of_another_tool_is_not_blamed_on_tensorflow(tmp_path: Path) -> None:
    for name in ("a.sqlite", "a.pftrace", "empty"):
        (tmp_path / name).touch()
        with pytest.raises(StoreError, match="its program ended before") as caught:
            find(tmp_path / name)
        assert "TensorFlow" not in str(caught.value)


def test_text_in_utf_16_is_told_how_to_become_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes('{"traceEvents": []}'.encode("utf-16"))
    with pytest.raises(StoreError, match="UTF-16") as caught:
        find(path)
    assert "iconv" in caught.value.hint


def test_reasons_are_distinct_per_kind() -> None:
    kinds: dict[str, set[str]] = {}
    for name, content, slug in NEAR_MISSES.values():
        verdict = examine(name, name, len(content), partial(_first, content))
        assert isinstance(verdict, Miss)
        kinds.setdefault(verdict.reason.split("(")[0], set()).add(slug)
    assert all(len(slugs) == 1 for slugs in kinds.values())
    assert len(kinds) >= 12


def _first(content: bytes, size: int) -> bytes:
    return content[:size]


TRACES = {
    "PyTorch's": ("host_1.123.pt.trace.json", b'{"schemaVersion": 1, "traceEvents": []}'),
    "compressed": ("step.json.gz", gzip.compress(b'{"traceEvents": [{"ph": "X"}]}')),
    "events late": ("a.json", b'{"note": "' + b"x" * 9000 + b'", "deviceProperties": []}'),
    "a bare list": ("b.json", b'\n[{"name": "a", "ph": "X", "ts": 1}]'),
}


@pytest.mark.parametrize("case", TRACES)
def test_a_trace_is_known_by_its_content(case: str, tmp_path: Path) -> None:
    name, content = TRACES[case]
    (tmp_path / name).write_bytes(content)
    (run,) = find(tmp_path).runs
    assert run.sources[0].format == "kineto"
    assert find(tmp_path / name).runs[0].sources[0].format == "kineto"
    (tmp_path / "host.xplane.pb").write_bytes(worked_example(gpu=False))
    found = find(tmp_path)
    assert [source.format for source in found.runs[0].sources] == ["xspace"]
    assert [miss.slug for miss in found.misses] == ["chrome-trace"]


def test_json_that_is_no_trace_is_of_no_interest(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_bytes(b'{"name": "a"}')
    (tmp_path / "list.json").write_bytes(b"[1, 2]")
    assert search(tmp_path).misses == ()


@pytest.mark.parametrize("name", ["profile", "host.pb", "a.bin", "vm.xplane.pb.1", "host.xspace"])
@pytest.mark.parametrize("compress", [False, True])
def test_any_name_opens_when_the_content_is_an_xspace(
    name: str, compress: bool, tmp_path: Path
) -> None:
    data = worked_example(gpu=True)
    (tmp_path / name).write_bytes(gzip.compress(data) if compress else data)
    (run,) = find(tmp_path).runs
    assert run.sources[0].path == str(tmp_path / name)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x0a",
        b"\x0a\x05abc",
        b"\x0a\x02\x12\x00",
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\n\nplain text that begins with newlines\n",
        b"# a comment\n",
        b"\x0a\x04\x3a\x02ab",
    ],
)
def test_other_bytes_do_not_read_as_an_xspace(content: bytes) -> None:
    named = content == b"\x0a\x02\x12\x00"  # a plane with an empty name: short, but it is one
    assert starts_xspace(content) is named


@pytest.mark.parametrize("data", [worked_example(gpu=False), no_events(), hostile_names()])
def test_real_starts_are_recognised_even_when_cut(data: bytes) -> None:
    assert HOSTILE_NAMES
    assert starts_xspace(data)
    assert starts_xspace(data[:200])


def test_host_is_the_name_without_its_suffixes() -> None:
    assert host_of("vm.xplane.pb") == "vm"
    assert host_of("vm.xplane.pb.gz") == "vm"
    assert host_of("10.0.0.1_6009.xplane.pb") == "10.0.0.1_6009"
    assert host_of(".xplane.pb") == ".xplane.pb"
    assert host_of("profile") == "profile"


def test_source_files_beside_a_recording_are_of_no_interest(tmp_path: Path) -> None:
    (tmp_path / "vm.xplane.pb").write_bytes(worked_example(gpu=False))
    for name in ("train.py", "notes.md", "model.ckpt", "checkpoint", "x.data-00000-of-00001"):
        (tmp_path / name).write_bytes(b"whatever")
    found = find(tmp_path)
    assert found.misses == ()
    assert found.files == 6


@pytest.mark.parametrize("name", ["config.json", "notes.txt", "weights.pkl", "train.log"])
def test_a_file_of_no_interest_is_read_twice_at_most(name: str) -> None:
    """Folders of runs hold thousands of such files, and several formats have their names."""
    asked: list[int] = []

    def head(size: int) -> bytes:
        asked.append(size)
        return b'{"layers": [1, 2, 3]}\n'.ljust(size, b" ")

    assert examine(f"logs/{name}", name, 1 << 20, head) == ""
    assert len(asked) <= 2
