"""A report: the same bytes each time, within its size, loud about what it leaves out."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.errors import UsageError
from stepscope.session import Session, open
from stepscope.surfaces.http.app import STATIC_FOLDER
from stepscope.surfaces.report import Choice, make_report
from stepscope.surfaces.report.events import folded, varints
from stepscope.surfaces.report.report import text_summary
from tests.profiles import hostile_names, worked_example
from tests.profiles.ready import names_of_strangers

needs_web = pytest.mark.skipif(
    not (STATIC_FOLDER / "index.html").is_file(), reason="the web files are not built"
)


def _session(folder: Path, data: bytes) -> Session:
    path = folder / "host.xplane.pb"
    path.write_bytes(data)
    return open(path)


def unpacked(page: bytes) -> dict[str, bytes]:
    """The members of a report, by name, and its notes under ""."""
    text = page.decode()
    match = re.search(r'id="stepscope-report" data-manifest="([^"]*)">([^<]*)<', text)
    assert match is not None
    manifest = json.loads(base64.b64decode(match[1]))
    members = {
        name: gzip.decompress(base64.b64decode(match[2][at : at + size]))
        for name, (at, size) in manifest["members"].items()
    }
    return {"": json.dumps(manifest["notes"]).encode(), **members}


def _slow_varints(values: list[int]) -> bytes:
    out = bytearray()
    for value in values:
        while value >= 0x80:
            out.append(value & 0x7F | 0x80)
            value >>= 7
        out.append(value)
    return bytes(out)


@given(st.lists(st.integers(0, (1 << 63) - 1)))
def test_varints_are_what_a_loop_writes(values: list[int]) -> None:
    assert varints(np.asarray(values, np.int64)) == _slow_varints(values)


@given(st.lists(st.integers(-(1 << 62), (1 << 62) - 1)))
def test_folded_numbers_unfold(values: list[int]) -> None:
    for value, told in zip(values, folded(np.asarray(values, np.int64)).tolist(), strict=True):
        assert (told // 2 if told % 2 == 0 else -(told + 1) // 2) == value


@needs_web
def test_same_recording_gives_the_same_bytes(tmp_path: Path) -> None:
    data = worked_example(gpu=True, steps=12)
    pages = []
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        pages.append(make_report(_session(tmp_path / name, data)))
    assert pages[0].html == pages[1].html
    assert pages[0].zipped("a.html") == pages[1].zipped("a.html")
    assert str(tmp_path) not in pages[0].html.decode()
    with zipfile.ZipFile(io.BytesIO(pages[0].zipped("a.html"))) as archive:
        assert archive.read("a.html") == pages[0].html


@needs_web
def test_policy_allows_the_one_script_and_the_one_style(tmp_path: Path) -> None:
    page = make_report(_session(tmp_path, worked_example())).html.decode()
    match = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert match is not None
    policy = html.unescape(match[1])
    assert "default-src 'none'" in policy and "connect-src 'none'" in policy
    for element in (r'<script type="module">(.*?)</script>', r"<style>(.*?)</style>"):
        found = re.findall(element, page, re.DOTALL)
        assert len(found) == 1
        digest = base64.b64encode(hashlib.sha256(found[0].encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert not re.search(r"(src|href)=\"(?!data:)", page.partition("<script")[0])


@needs_web
@pytest.mark.parametrize("data", [hostile_names(), names_of_strangers(1000)])
def test_names_stand_in_base64_only(tmp_path: Path, data: bytes) -> None:
    page = make_report(_session(tmp_path, data)).html.decode()
    assert page.count("</script>") == 2
    assert "pwned" not in page and "alert(1)" not in page
    told = b"".join(unpacked(page.encode()).values())
    assert b"pwned" in told or b"alert(1)" in told  # the names are inside anyway


@needs_web
def test_every_event_is_inside_and_top_says_how_many(tmp_path: Path) -> None:
    session = _session(tmp_path, worked_example(gpu=True, steps=40))
    whole = make_report(session)
    assert whole.events == whole.all_events > 0
    assert whole.notes == ()
    top = make_report(session, Choice(events="top"))
    assert 0 < top.events < whole.events
    assert "3 of 40 steps" in top.notes[0] and f"{top.events:,} of {whole.events:,}" in top.notes[0]
    none = make_report(session, Choice(events="none"))
    assert none.events == 0 and none.all_events == whole.all_events
    assert none.notes == ("No events are in this report.",)
    assert "timeline/events" not in unpacked(none.html)


@needs_web
def test_what_does_not_fit_is_left_out_aloud(tmp_path: Path) -> None:
    session = _session(tmp_path, worked_example(gpu=True, steps=4000))
    whole = make_report(session)
    small = make_report(session, Choice(max_bytes=len(whole.html) - 60_000))
    assert len(small.html) <= len(whole.html) - 60_000
    assert small.events < whole.events
    assert any("steps" in note or "No events" in note for note in small.notes)
    with pytest.raises(UsageError, match="takes"):
        make_report(session, Choice(max_bytes=100_000))


@needs_web
def test_pages_that_are_left_out_say_so(tmp_path: Path) -> None:
    session = _session(tmp_path, worked_example(gpu=True))
    made = unpacked(make_report(session, Choice(pages=("kernel_stats",))).html)
    tools: dict[str, Any] = {one["id"]: one for one in json.loads(made["tools"])["tools"]}
    assert tools["kernel_stats"]["available"] and tools["overview_page"]["available"]
    assert tools["host_activity"]["missing"] == "This report leaves the page out."
    assert "tool/kernel_stats?group_by=name" in made  # what the page asks with
    assert "tool/kernel_stats?group_by=op" in made and "tool/host_activity" not in made
    assert tools["kernel_stats"]["opens"] == {"group_by": "name"}
    with pytest.raises(UsageError, match="no tool"):
        make_report(session, Choice(pages=("nonsense",)))


@needs_web
def test_figures_are_those_of_the_session(tmp_path: Path) -> None:
    session = _session(tmp_path, worked_example(gpu=True))
    report = make_report(session)
    overview = json.loads(unpacked(report.html)["tool/overview_page"])
    assert overview["headline"] == session.overview_page().headline
    summary = text_summary(session, report)
    assert session.overview_page().headline in summary
    assert f"{report.events:,} of {report.all_events:,} events" in summary


def test_choices_are_checked() -> None:
    with pytest.raises(UsageError, match="events"):
        Choice(events="some")
    with pytest.raises(UsageError, match="too large"):
        Choice(max_bytes=16_000_000)
