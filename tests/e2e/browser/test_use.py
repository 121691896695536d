"""What a person does with the pages: keys, links, tables, charts, themes, exports."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

from playwright.sync_api import Page, Route, expect

from stepscope.surfaces.http import Server
from tests.e2e.browser.conftest import Opener


def hash_of(page: Page) -> str:
    return page.url.partition("#")[2]


def first_column(page: Page, column: int) -> list[str]:
    cells = page.locator(f'.grid-rows [role="gridcell"][aria-colindex="{column}"]')
    return cells.all_inner_texts()


def column_named(page: Page, label: str) -> int:
    headings = page.locator('[role="columnheader"]').all_inner_texts()
    return 1 + next(i for i, text in enumerate(headings) if text.split("\n")[0].startswith(label))


def test_the_keyboard_reaches_pages_help_and_filter(open_page: Opener) -> None:
    page = open_page("#/overview?run=gpu")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Shortcuts")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("Control+k")
    expect(page.get_by_role("combobox")).to_be_focused()
    page.keyboard.type("framework")
    page.keyboard.press("Enter")
    expect(page.locator("main h1")).to_contain_text("Framework")
    page.locator(".grid").first.wait_for()
    page.keyboard.press("f")
    page.keyboard.type("matmul")
    expect(page.locator(".grid-count").first).to_contain_text(" of ")
    assert "ops.q=matmul" in hash_of(page)
    page.keyboard.press("Escape")
    page.locator("main").focus()
    page.keyboard.press("1")
    expect(page.locator(".figures")).to_be_visible()


def test_the_palette_leads_to_a_kernel_by_a_part_of_its_name(open_page: Opener) -> None:
    page = open_page("#/overview?run=gpu")
    page.keyboard.press("/")
    page.keyboard.type("sgemm")
    page.keyboard.press("Enter")
    expect(page.locator("main h1")).to_have_text("Work")
    details = page.get_by_role("region", name="Selected row")
    expect(details).to_contain_text("sgemm")
    row = page.locator('.grid-rows [role="row"][aria-selected="true"]')
    expect(row).to_be_in_viewport()
    assert "group_by=kernel" in hash_of(page)
    address = hash_of(page)
    # The address of a row has its details open, and forgets them when they close.
    again = open_page(f"#{address}")
    expect(again.get_by_role("region", name="Selected row")).to_contain_text("sgemm")
    again.keyboard.press("Escape")
    again.wait_for_function("() => !location.hash.includes('groups.row')")
    expect(again.get_by_role("region", name="Selected row")).to_have_count(0)


def test_tab_passes_every_control_and_leaves_again(open_page: Opener) -> None:
    page = open_page("#/work_table?run=gpu&group_by=op")
    page.locator(".grid").wait_for()
    seen: list[str] = []
    for _ in range(80):
        page.keyboard.press("Tab")
        at = page.evaluate(
            "() => document.activeElement === document.body ? 'out' : "
            "`${document.activeElement.tagName}.${document.activeElement.className}`"
        )
        seen.append(at)
        if at == "out" and len(seen) > 1:
            break
    assert "out" in seen, "the focus never left the page"
    assert any("grid-query" in at for at in seen)
    assert any(at.split()[0] == "DIV.grid" for at in seen)


def test_a_link_restores_the_whole_view(open_page: Opener) -> None:
    page = open_page("#/work_table?run=gpu&host=worker-1&group_by=family")
    expect(page.locator(".header")).to_contain_text("worker-1")
    page.locator(".grid-query").fill("mat")
    page.get_by_role("columnheader", name="Runs").get_by_role("button").click()
    page.wait_for_function("() => location.hash.includes('groups.q=mat')")
    address = hash_of(page)
    assert "groups.sort=-runs" in address
    shown = first_column(page, 2)
    page.goto("about:blank")
    again = open_page(f"#{address}")
    expect(again.locator(".options .segment.chosen").first).to_have_text("Family")
    expect(again.locator(".grid-query")).to_have_value("mat")
    expect(again.get_by_role("columnheader", name="Runs")).to_have_attribute(
        "aria-sort", "descending"
    )
    assert first_column(again, 2) == shown


def test_back_undoes_an_option(open_page: Opener) -> None:
    page = open_page("#/op_stats?run=gpu")
    page.locator(".segment", has_text="Type").click()
    expect(page).to_have_url(re.compile("group_by=type"))
    page.go_back()
    expect(page.locator(".options .segment.chosen").first).to_have_text("Op")


def test_sorting_and_conditions_change_the_rows(open_page: Opener) -> None:
    page = open_page("#/work_table?run=gpu&group_by=op")
    heading = page.get_by_role("columnheader", name="Self time (µs)", exact=True)
    expect(heading).to_have_attribute("aria-sort", "descending")
    column = column_named(page, "Self time")
    times = [float(text.replace(",", "")) for text in first_column(page, column)]
    assert times == sorted(times, reverse=True)
    heading.get_by_role("button").click()
    expect(heading).to_have_attribute("aria-sort", "ascending")
    bound = times[0] - 1e-3
    page.get_by_role("button", name="Add a condition").click()
    page.get_by_label("Value").fill(str(bound))
    page.get_by_role("button", name="Add", exact=True).click()
    kept = sum(time >= bound for time in times)
    expect(page.locator(".grid-count")).to_contain_text(f"{kept} of ")
    page.locator(".chip").click()
    expect(page.locator(".chip")).to_have_count(0)


def test_an_expression_that_is_none_is_explained(open_page: Opener) -> None:
    page = open_page("#/work_table?run=gpu&group_by=op")
    page.locator(".grid-query").fill("/(/")
    expect(page.get_by_role("alert")).to_contain_text("Not applied")


def test_rows_are_selected_and_copied_with_the_keyboard(open_page: Opener) -> None:
    page = open_page("#/work_table?run=gpu&group_by=op")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator(".grid").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Shift+ArrowDown")
    expect(page.locator('.grid-row[aria-selected="true"]')).to_have_count(2)
    page.keyboard.press("Control+c")
    text = page.evaluate("() => navigator.clipboard.readText()")
    lines = text.rstrip("\n").split("\n")
    assert len(lines) == 3
    assert "Self time (µs)" in lines[0].split("\t")


def test_exports_hold_what_the_table_holds(open_page: Opener) -> None:
    page = open_page("#/work_table?run=gpu&group_by=op")
    rows = int(page.locator(".grid").get_attribute("aria-rowcount") or 0) - 1
    page.get_by_role("button", name="Export").click()
    contents: dict[str, bytes] = {}
    for kind in ("CSV", "JSON", "Parquet"):
        if not page.locator(".menu-item", has_text=kind).is_visible():
            page.get_by_role("button", name="Export").click()
        with page.expect_download() as download:
            page.locator(".menu-item", has_text=kind).click()
        contents[kind] = Path(download.value.path()).read_bytes()
    table = list(csv.DictReader(io.StringIO(contents["CSV"].decode())))
    assert len(table) == rows
    assert "self_time_us" in table[0]
    assert len(json.loads(contents["JSON"])) == rows
    assert contents["Parquet"][:4] == b"PAR1"


def test_charts_are_saved_as_drawings_and_images(open_page: Opener) -> None:
    page = open_page("#/overview?run=gpu")
    contents: dict[str, bytes] = {}
    for kind in ("SVG", "PNG"):
        page.get_by_role("button", name="Save chart “Step times”").click()
        with page.expect_download() as download:
            page.locator(".menu-item", has_text=kind).click()
        contents[kind] = Path(download.value.path()).read_bytes()
    drawing = contents["SVG"].decode()
    assert drawing.startswith("<svg")
    assert "var(" not in drawing and "class=" not in drawing, "colours are written out"
    assert contents["PNG"][:8] == b"\x89PNG\r\n\x1a\n"


def test_the_step_chart_selects_reads_out_and_becomes_a_table(open_page: Opener) -> None:
    page = open_page("#/overview?run=cpu")
    chart = page.locator(".step-chart")
    box = chart.bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 300, middle)
    expect(page.locator(".tip")).to_contain_text("Slowest of steps")
    page.mouse.down()
    page.mouse.move(box["x"] + 500, middle, steps=5)
    page.mouse.up()
    page.wait_for_function("() => location.hash.includes('steps=')")
    expect(page.locator(".times-said")).to_contain_text(re.compile(r"^steps \d+–\d+ of 600"))
    expect(page.locator(".step-selected")).to_be_visible()
    page.get_by_role("button", name="Zoom to selection").click()
    page.get_by_role("button", name="All 600 steps").click()
    page.wait_for_function("() => !location.hash.includes('steps=')")
    chart.focus()
    page.keyboard.press("End")
    expect(page.locator(".tip")).to_contain_text("of steps 598 to 599")
    page.get_by_role("button", name="Show as table").click()
    expect(page.get_by_role("grid", name="Steps")).to_have_attribute("aria-rowcount", "601")


def test_the_theme_is_chosen_and_remembered(open_page: Opener) -> None:
    page = open_page("#/overview?run=gpu")
    colour = "() => getComputedStyle(document.documentElement).backgroundColor"
    light = page.evaluate(colour)
    page.get_by_role("button", name="More").click()
    page.get_by_label("Dark").check()
    dark = page.evaluate(colour)
    assert light == "rgb(255, 255, 255)" and dark != light
    page.reload()
    page.locator(".figures").wait_for()
    assert page.evaluate(colour) == dark
    page.get_by_role("button", name="More").click()
    page.get_by_label("System").check()
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(colour) == dark


def test_runs_and_hosts_are_picked_by_typing(open_page: Opener) -> None:
    page = open_page("#/overview?run=gpu")
    page.get_by_role("button", name="Host: All 2 hosts").click()
    expect(page.get_by_role("combobox")).to_be_focused()
    page.keyboard.type("worker-1")
    page.keyboard.press("Enter")
    page.wait_for_function("() => location.hash.includes('host=worker-1')")
    page.locator(".picker button").first.click()
    expect(page.get_by_role("combobox")).to_be_focused()
    page.keyboard.type("cpu")
    page.keyboard.press("Enter")
    page.wait_for_function("() => location.hash.includes('run=cpu')")
    expect(page.locator(".header")).to_contain_text("laptop")
    assert "host=" not in hash_of(page)


def test_a_server_that_is_gone_leaves_the_page_readable(
    open_page: Opener, server: Server, allowed_errors: list[str]
) -> None:
    allowed_errors.append("ERR_FAILED")
    page = open_page("#/overview?run=gpu")
    page.locator(".grid").first.wait_for()

    def refuse(route: Route) -> None:
        route.abort()

    page.route("**/api/**", refuse)
    page.locator(".views a", has_text="Work").click()
    expect(page.locator(".gone")).to_contain_text("server does not answer")
    page.locator(".views a", has_text="Answer").click()
    expect(page.locator(".figures")).to_be_visible()
    page.unroute("**/api/**", refuse)
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".gone")).to_have_count(0)
    page.locator(".views a", has_text="Work").click()
    expect(page.locator(".grid")).to_be_visible()


def test_a_slow_opening_shows_its_stage(open_page: Opener) -> None:
    page = open_page("#/overview?run=gpu")
    progress = {
        "state": "opening",
        "stage": "decode",
        "done": 41,
        "total": 100,
        "message": "Reading plane 3 of 7",
    }
    held: list[Route] = []
    page.route("**/api/v1/progress*", lambda route: route.fulfill(json=progress))
    page.route("**/api/v1/tools*", lambda route: held.append(route))
    page.reload()
    expect(page.get_by_role("status")).to_contain_text("Reading plane 3 of 7 41%")
    for route in held:
        route.continue_()
    expect(page.locator(".figures")).to_be_visible()
