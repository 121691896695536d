"""The page of a pod: the answer, its map, the collective that proves it, the way to its hosts."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from stepscope.surfaces.http import Server, Settings
from stepscope.surfaces.http.app import STATIC_FOLDER
from tests.e2e.browser.axe import violations
from tests.e2e.browser.conftest import Opener
from tests.e2e.browser.tool_recordings import pod as recorded

ADDRESS = "#/pod"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Two hosts of two GPUs, the last of which is late; a third recording does not open."""
    if not (STATIC_FOLDER / "index.html").is_file():
        pytest.skip("the web files are not built: python dev.py web")
    root = tmp_path_factory.mktemp("job")
    folder = root / "plugins" / "profile" / "2026_01_01_00_00_00"
    folder.mkdir(parents=True)
    files = {"worker-0": recorded(0), "worker-1": recorded(2), "worker-2": b"\xff" * 64}
    for name, data in files.items():
        (folder / f"{name}.xplane.pb").write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        with Server(str(root), Settings(port=0)) as running:
            yield running


@pytest.fixture
def pod(open_page: Opener) -> Page:
    page = open_page(ADDRESS)
    expect(page.locator(".verdict h2")).to_contain_text(
        re.compile(r"GPU:1 of worker-1 costs 1[89]\d\sµs")
    )
    return page


def test_who_is_missing_comes_before_the_answer(pod: Page) -> None:
    text = pod.locator(".tool-page").inner_text()
    assert text.index("did not open: worker-2") < text.index("GPU:1 of worker-1 costs")
    figures = pod.locator(".figures > div").all_inner_texts()
    assert any("Recordings\n2\nof 3" in figure for figure in figures)


def test_the_step_is_a_bar_of_what_is_typical_and_who_adds_to_it(pod: Page) -> None:
    bar = pod.get_by_role("img", name=re.compile("Step of the pod"))
    expect(bar).to_have_attribute(
        "aria-label", re.compile(r"typical step 80.\d%, GPU:1 of worker-1 1\d")
    )


def test_the_map_is_read_by_pointer_and_keys(pod: Page) -> None:
    cells = pod.get_by_role("group", name=re.compile("4 devices by Makes others wait"))
    cells.locator("canvas").hover(position={"x": 22 + 5, "y": 22 + 5})
    expect(cells.get_by_role("status")).to_contain_text("GPU:1 of worker-1")
    cells.focus()
    pod.keyboard.press("Home")
    expect(cells.get_by_role("status")).to_contain_text("GPU:1 of worker-0")
    pod.keyboard.press("ArrowUp")
    expect(cells.get_by_role("status")).to_contain_text("GPU:0 of worker-0")
    pod.keyboard.press("Enter")
    expect(pod).to_have_url(re.compile("#/overview_page.*host=worker-0"))


def test_another_colour_is_asked_for_when_it_is_chosen(pod: Page) -> None:
    with pod.expect_request(re.compile("measure=work_ratio")):
        pod.get_by_text("× peers", exact=True).first.click()
    expect(pod).to_have_url(re.compile("view.measure=work_ratio"))
    expect(pod.locator(".pod-map-legend")).to_contain_text("around the median")


def test_evidence_draws_three_hosts_with_the_error_of_their_clocks(pod: Page) -> None:
    meeting = pod.get_by_role("img", name=re.compile("suspect: GPU:1 of worker-1 arrives"))
    expect(meeting).to_be_visible()
    assert meeting.locator(".whisker").count() == 3
    bars = [
        bar.bounding_box() for bar in meeting.locator("rect.fill-device, rect.fill-other").all()
    ]
    left = min(bar["x"] for bar in bars if bar)
    for whisker in meeting.locator(".whisker").all():
        box = whisker.bounding_box()
        assert box is not None and box["x"] >= left - 1, "it is drawn over the names"
    pod.get_by_role("link", name="Timeline of 2 hosts").click()
    expect(pod).to_have_url(re.compile(r"#/trace_viewer\?.*host=worker-1%2Cworker-0"))
    expect(pod.get_by_role("heading", name="Timeline")).to_be_visible()


def test_everybody_can_read_it(pod: Page) -> None:
    expect(pod.locator(".pod-map canvas")).to_be_visible()
    assert violations(pod) == []
