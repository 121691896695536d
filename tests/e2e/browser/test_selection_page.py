"""One selection in the header: every page shows its numbers, which are those of the terminal."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from click.testing import CliRunner
from playwright.sync_api import Page, expect

import stepscope
from stepscope.surfaces.cli.group import build
from tests.e2e.browser.axe import violations
from tests.e2e.browser.conftest import Opener


def drag_over_steps(page: Page, begin: float, end: float) -> None:
    """Drag from one place of the step chart to another, as shares of its width."""
    box = page.locator(".step-chart").bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + begin * box["width"], middle)
    page.mouse.down()
    page.mouse.move(box["x"] + end * box["width"], middle, steps=5)
    page.mouse.up()


def chips(page: Page) -> list[str]:
    """The parts of the selection in the header."""
    return [text.rstrip(" ✕") for text in page.locator(".selected-part").all_inner_texts()]


def test_steps_picked_on_a_chart_go_to_every_page(open_page: Opener) -> None:
    page = open_page("#/overview?run=cpu")
    drag_over_steps(page, 0.3, 0.5)
    said = page.locator(".times-said")
    expect(said).to_contain_text(re.compile(r"^steps \d+–\d+ of 600\."))
    steps = re.search(r"steps=(\d+-\d+)", page.url)
    assert steps
    assert chips(page) == [f"steps {steps[1].replace('-', '–')}"]
    page.keyboard.press("3")  # Work
    expect(page.locator("main h1")).to_have_text("Work")
    expect(said).to_contain_text(f"steps {steps[1].replace('-', '–')} of 600.")
    page.keyboard.press("Escape")
    expect(page.locator(".selected-part")).to_have_count(0)
    expect(said).not_to_contain_text("of 600")
    page.go_back()
    expect(said).to_contain_text("of 600.")
    page.go_back()
    expect(page.locator(".figures")).to_be_visible()
    assert chips(page)
    page.go_back()
    expect(page.locator(".selected-part")).to_have_count(0)


def test_parts_are_typed_and_the_last_one_is_taken_off_first(open_page: Opener) -> None:
    page = open_page("#/kernels?run=gpu")
    select = page.get_by_role("button", name="Select a part of the recording")
    for label, value in (("Devices or ranks", "worker-1"), ("Steps", "10-20")):
        select.click()
        page.get_by_label(label).fill(value)
        page.keyboard.press("Enter")
    expect(page.locator(".times-said")).to_contain_text("steps 10–20 of 40 on worker-1.")
    assert "device=worker-1&steps=10-20" in page.url
    assert violations(page) == []
    page.keyboard.press("Escape")
    expect(page.locator(".times-said")).to_contain_text("worker-1.")
    assert chips(page) == ["worker-1"]
    page.locator(".selected-part").click()
    assert "device=" not in page.url


def test_the_first_field_has_the_focus_as_soon_as_it_is_there(open_page: Opener) -> None:
    """Focus that came a frame later took what a quick person had begun to type elsewhere."""
    page = open_page("#/kernels?run=gpu")
    select = page.get_by_role("button", name="Select a part of the recording")
    focused = """button => new Promise(resolve => {
        new MutationObserver(() => resolve(document.activeElement.name))
            .observe(button.parentElement, {childList: true});
        button.click();
    })"""
    assert select.evaluate(focused) == "steps"


def test_a_selection_that_is_nowhere_says_so_and_leads_back(open_page: Opener) -> None:
    page = open_page("#/kernels?run=gpu&steps=500")
    expect(page.locator(".notice")).to_contain_text("There is no step 500.")
    page.get_by_role("link", name="Whole recording").click()
    expect(page.get_by_role("grid", name="Kernels")).to_be_visible()


def test_a_row_selects_its_step_and_device(open_page: Opener) -> None:
    page = open_page("#/idle?run=gpu")
    gaps = page.locator("section").filter(has=page.get_by_role("heading", name="Longest gaps"))
    gaps.locator('.grid-rows [role="row"]').first.click()
    page.get_by_role("button", name=re.compile("^Select worker-")).click()
    expect(page.locator(".times-said")).to_contain_text(re.compile(r"^worker-\d"))


def test_the_timeline_marks_and_sets_a_range(open_page: Opener) -> None:
    page = open_page("#/timeline?run=gpu&steps=10-12")
    details = page.get_by_role("region", name="Details")
    expect(details).to_contain_text("2.90 ms")
    details.get_by_role("button", name="Select this range").click()
    expect(page.locator(".selected-part")).to_have_count(2)
    page.get_by_role("navigation", name="Views").get_by_role("link", name="Work").click()
    expect(page.locator(".times-said")).to_contain_text("steps 10–12 of 40, within ")


SELECTIONS: list[tuple[str, str, dict[str, str]]] = [
    ("gpu", "kernel_stats", {"steps": "10-20"}),
    ("gpu", "kernel_stats", {"steps": "7"}),
    ("gpu", "kernel_stats", {"device": "worker-1"}),
    ("gpu", "kernel_stats", {"device": "worker-1", "steps": "3-4"}),
    ("gpu", "kernel_stats", {"range": "5ms-9.1ms"}),
    ("gpu", "framework_op_stats", {"steps": "10-20"}),
    ("gpu", "framework_op_stats", {"range": "10-20ms", "device": "1"}),
    ("gpu", "framework_op_stats", {"range": "0.01s-"}),
    ("gpu", "step_account", {"steps": "30-39"}),
    ("gpu", "step_account", {"range": "2000us-7500us"}),
    ("gpu", "device_idle", {"steps": "10-20"}),
    ("gpu", "device_idle", {"device": "0"}),
    ("gpu", "overview_page", {"steps": "10-20"}),
    ("gpu", "overview_page", {"steps": "5-30", "device": "worker-0"}),
    ("gpu", "overview_page", {"range": "10ms-30ms"}),
    ("gpu", "op_profile", {"steps": "2-3"}),
    ("cpu", "overview_page", {"steps": "100-199"}),
    ("cpu", "framework_op_stats", {"steps": "599"}),
    ("cpu", "step_account", {"steps": "0-9"}),
    ("cpu", "host_activity", {"range": "0.1s-0.2s"}),
    ("gpu", "work_table", {"steps": "10-20"}),
    ("gpu", "work_table", {"device": "worker-1", "steps": "3-4"}),
    ("gpu", "work_table", {"range": "5ms-9.1ms"}),
    ("cpu", "work_table", {"steps": "100-199"}),
]


def decoded(column: Any) -> list[Any]:
    """The cells of a column, of which pages get repeated values once."""
    if isinstance(column, list):
        return column
    return [column["values"][code] for code in column["codes"]]


@pytest.mark.parametrize(("run", "tool", "selection"), SELECTIONS)
def test_page_terminal_and_python_agree_to_the_digit(
    open_page: Opener,
    page: Page,
    recordings: Path,
    run: str,
    tool: str,
    selection: dict[str, str],
) -> None:
    folder = str(recordings / "plugins" / "profile" / run)
    address = f"#/{tool}?{urlencode({'run': run, **selection})}"
    with page.expect_response(re.compile(f"/api/v1/tool/{tool}\\?")) as answered:
        open_page(address)
    shown: dict[str, Any] = answered.value.json()
    # Asked with the options of the page, and for the mean step where the page shows it.
    asked = dict(parse_qsl(urlsplit(answered.value.url).query))
    options = {name: asked[name] for name in asked.keys() - {"run", "layout", "per", *selection}}
    base = {"per": asked["per"]} if "per" in asked else {}
    with stepscope.open(folder) as session:
        part = session.select(**selection)
        part = part.per("step") if base else part
        result = part.run_without_findings(tool, **options)
    python = json.loads(json.dumps(result.to_dict()))
    given = selection | base | options
    flags = [word for name in given for word in ("--" + name.replace("_", "-"), given[name])]
    ran = CliRunner().invoke(build(), ["show", tool, folder, *flags, "--format", "json"])
    terminal = json.loads(ran.stdout)
    compared = [name for name in python if name not in ("findings", "session")]
    assert len(compared) > 9
    for name in compared:
        assert terminal[name] == python[name], name
        value = shown[name]
        if isinstance(value, dict) and set(value) == {"rows", "columns"}:
            cells = zip(*map(decoded, value["columns"].values()), strict=True)
            rows = [dict(zip(value["columns"], row, strict=True)) for row in cells]
            assert rows == python[name], name
        elif not isinstance(value, dict | list):
            assert value == python[name], name
    expect(page.locator(".times-said")).to_contain_text(python["selection"])
    headline = python.get("headline", "")
    visible = page.locator("main").inner_text().replace("\u00a0", " ")
    if tool == "overview_page":
        assert headline.replace("\u00a0", " ") in visible
        plain = CliRunner().invoke(build(), ["show", tool, folder, *flags]).stdout
        assert headline in " ".join(plain.split())


def test_there_are_twenty_selections_and_four_of_work() -> None:
    assert len(SELECTIONS) == 24


def test_the_timeline_scrolls_to_a_selected_device(open_page: Opener) -> None:
    page = open_page("#/trace_viewer?run=gpu&device=worker-1")
    page.set_viewport_size({"width": 1280, "height": 420})
    top = page.locator(".tl-gutter-part.rest")
    first = "[...e.querySelectorAll('.tl-section')].find(s => s.offsetTop >= 0)?.innerText ?? ''"
    expect(top.locator(".tl-section").first).to_be_visible()
    assert "worker-1" in top.evaluate(f"e => {first}")
    page.goto(page.url.replace("worker-1", "worker-0"))
    page.wait_for_function(
        f"(() => {{ const e = document.querySelector('.tl-gutter-part.rest');"
        f" return ({first}).includes('worker-0'); }})()"
    )
