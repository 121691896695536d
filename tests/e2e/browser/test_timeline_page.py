"""The timeline's page: search, steps, overview, tracks, colours, arrows, links, accessibility."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from stepscope.surfaces.http import Server, Settings
from tests.e2e.browser.axe import violations
from tests.e2e.browser.conftest import Opener
from tests.e2e.browser.timeline_stage import BACKGROUND, KERNEL, Stage, open_stage
from tests.profiles import Event, host, line, space


@pytest.fixture
def stage(open_page: Opener, server: Server, allowed_errors: list[str]) -> Stage:
    """The timeline of the recorded GPU host."""
    return open_stage(open_page, server, allowed_errors)


def test_search_counts_the_whole_trace_and_steps_through_it(stage: Stage) -> None:
    page = stage.page
    hits = stage.ask("search", q=KERNEL, limit=50)
    # The view holds none of them.
    stage.open(view=f"0~{hits['first'][0]['begin_ps'] // 2}")
    page.keyboard.press("/")
    page.keyboard.type(KERNEL)
    expect(page.locator(".tl-count")).to_have_text(f"{hits['count']} hits")
    expect(page.locator(".tl-panel tbody tr")).to_have_count(min(200, hits["count"]))
    page.keyboard.press("Enter")
    stage.wait_param("event", str(hits["first"][0]["event"]))
    page.keyboard.press("Escape")
    # The hits are still there, and so is what was sought.
    expect(page.get_by_label("Search all events", exact=True)).to_have_value(KERNEL)
    page.keyboard.press("n")
    stage.wait_param("event", str(hits["first"][1]["event"]))
    page.keyboard.press("Shift+N")
    stage.wait_param("event", str(hits["first"][0]["event"]))
    stage.settle()
    begin, end = stage.view()
    assert begin <= hits["first"][0]["begin_ps"] <= end
    assert stage.param("q") == KERNEL


def test_an_open_menu_has_the_keys_for_itself(stage: Stage) -> None:
    page = stage.page
    page.get_by_role("button", name="Tracks", exact=True).click()
    field = page.get_by_label("Filter tracks")
    expect(field).to_be_focused()
    page.get_by_text("Only tracks with events in view").focus()
    page.locator(".popover-panel button").first.focus()
    page.keyboard.press("t")
    page.keyboard.press("e")
    page.wait_for_timeout(500)
    assert stage.param("marks") == ""
    assert stage.param("arrows") == ""
    page.keyboard.press("Escape")
    expect(page.locator(".popover-panel")).to_have_count(0)


def test_a_range_tells_what_its_counters_do_and_goes_to_their_peak(
    page: Page, tmp_path: Path
) -> None:
    def at(us: int, used: int) -> Event:
        stats = {"allocator_name": "GPU_0", "bytes_allocated": used << 20}
        return Event("MemoryAllocation", us, 0, stats)

    file = tmp_path / "worker.xplane.pb"
    file.write_bytes(space(host(line("python", at(0, 8), at(100, 64), at(300, 16), at(400, 8)))))
    with Server(str(file), Settings(port=0)) as server:
        page.goto(server.url)
        page.goto(f"{server.url.split('?')[0]}#/timeline?tl.range=50000000~350000000")
        table = page.get_by_role("table", name="Counters of the range")
        cells = table.locator("tbody tr").first.locator("td")
        # 8 MiB for 50 µs, 64 for 200, 16 for 50.
        expect(cells).to_have_text(["8.00 MiB", "+8.00 MiB", "8.00 MiB", "46.7 MiB", "64.0 MiB"])
        cells.last.get_by_role("button").click()
        expect(page.locator(".tl-marks")).to_contain_text("Mark at 100")


def test_the_name_of_a_section_stays_while_its_tracks_do(stage: Stage) -> None:
    page = stage.page
    page.set_viewport_size({"width": 1280, "height": 420})
    meta = stage.ask("meta")
    stage.open(heights=",".join(f"{track['id']}-90" for track in meta["tracks"]))
    stuck = page.locator(".tl-section.stuck")
    expect(stuck).to_have_count(0)
    box = stage.box
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.wheel(0, 60)
    expect(stuck).to_contain_text(meta["sections"][0]["name"])


def test_the_tracks_of_a_range_stay_in_sight(stage: Stage) -> None:
    page = stage.page
    page.set_viewport_size({"width": 1280, "height": 620})
    meta = stage.ask("meta")
    last = meta["sections"][-1]["tracks"][-1]
    begin, end = meta["begin_ps"], meta["end_ps"]
    stage.open(range=f"{begin}~{end}", **{"in": str(last)})
    name = meta["tracks"][last]["name"]
    label = page.locator(f'.tl-track[title^="{name}"]')
    expect(label).to_be_visible()
    panel = page.locator(".tl-panel").bounding_box()
    box = label.bounding_box()
    assert panel is not None and box is not None
    assert box["y"] + box["height"] <= panel["y"] + 1, "the panel must not cover it"


def test_hits_of_the_view_are_lit_however_many_come_before(stage: Stage) -> None:
    hits = stage.ask("search", q=KERNEL, limit=1000)["first"]
    last = hits[-1]
    length = last["end_ps"] - last["begin_ps"]
    asked: list[str] = []
    stage.page.on("request", lambda request: asked.append(request.url))
    stage.open(view=f"{last['begin_ps'] - length}~{last['end_ps'] + length}", q=KERNEL)
    stage.page.wait_for_timeout(800)
    assert any("from_ps=" in url for url in asked)
    x, y = stage.point(last, at=0.0)
    edges = {tuple(stage.pixel(x + offset, y)) for offset in (-1, 0, 1)}
    middle = tuple(stage.pixel(*stage.point(last, at=0.5)))
    assert any(edge != middle and edge != tuple(BACKGROUND) for edge in edges), "no outline"


def test_a_folded_section_is_as_fine_as_the_view(stage: Stage) -> None:
    page = stage.page
    place = stage.place(KERNEL)
    section = stage.ask("meta")["tracks"][place["track"]]["section"]
    length = place["end_ps"] - place["begin_ps"]
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    view = f"{place['begin_ps'] - length}~{place['end_ps'] + length}"
    stage.open(view=view, sections=str(section))
    page.wait_for_timeout(800)
    fine = [url for url in asked if "/density" in url and "start_ps=" in url]
    assert fine, "the columns of the whole trace are too coarse for a view"


def test_one_clock_with_the_other_pages(stage: Stage) -> None:
    place = stage.place(KERNEL)
    stage.around(place)
    stage.page.mouse.click(*stage.point(place))
    start = stage.page.locator(".tl-event dd").nth(2)
    shown = float((start.inner_text().split()[0]).replace(",", ""))
    unit = {"s": 1e12, "ms": 1e9, "µs": 1e6}[start.inner_text().split()[1]]
    assert shown * unit == pytest.approx(place["begin_ps"], abs=1e4)


def test_search_by_regular_expression_and_by_stat(stage: Stage) -> None:
    page = stage.page
    page.locator("#tl-search").fill("^(cuLaunch|cuMemcpy)")
    page.get_by_role("button", name="Search options").click()
    page.get_by_label("Regular expression").check()
    wanted = stage.ask("search", q="^(cuLaunch|cuMemcpy)", mode="regex")["count"]
    assert wanted > 0
    expect(page.locator(".tl-count")).to_have_text(f"{wanted} hits")
    page.get_by_label("Regular expression").uncheck()
    expect(page.locator(".tl-count")).to_have_text("0 hits")
    page.locator("#tl-search").fill("1003")
    page.get_by_role("button", name="Search options").click()
    page.get_by_label("Search in").fill("correlation_id")
    page.get_by_label("Search in").press("Enter")
    wanted = stage.ask("search", q="1003", stat="correlation_id")["count"]
    assert wanted > 0
    expect(page.locator(".tl-count")).to_have_text(re.compile(f"^{wanted} hits?$"))


def test_an_impossible_expression_is_explained(stage: Stage, allowed_errors: list[str]) -> None:
    allowed_errors.append("400")
    stage.open(q=quote("(("), mode="regex")
    expect(stage.page.locator(".tl-panel")).to_contain_text("regular expression")


def test_a_step_is_reached_by_its_number(stage: Stage) -> None:
    steps = stage.ask("meta")["steps"][0]
    at = steps["num"].index(7)
    stage.page.keyboard.press("j")
    expect(stage.page.locator("#tl-step")).to_be_focused()

    def enter() -> None:
        stage.page.keyboard.type("7")
        stage.page.keyboard.press("Enter")

    begin, end = stage.changed_view(enter)
    # What is typed from here on moves the timeline.
    expect(stage.page.locator("#tl-step")).not_to_be_focused()
    assert begin <= steps["begin_ps"][at] and end >= steps["end_ps"][at]
    assert end - begin < 2 * (steps["end_ps"][at] - steps["begin_ps"][at])


def test_the_overview_chooses_what_is_shown(stage: Stage) -> None:
    meta = stage.ask("meta")
    found = stage.page.locator(".tl-map").bounding_box()
    assert found is not None
    x, y, width = found["x"], found["y"] + 20, found["width"]
    begin, end = stage.changed_view(lambda: stage.drag((x + width * 0.25, y), (x + width * 0.5, y)))
    whole = meta["end_ps"] - meta["begin_ps"]
    assert abs(begin - meta["begin_ps"] - whole * 0.25) < whole * 0.01
    assert abs(end - meta["begin_ps"] - whole * 0.5) < whole * 0.01
    stage.page.locator(".tl-map").focus()
    moved, _ = stage.changed_view(lambda: stage.page.keyboard.press("ArrowRight"))
    assert moved > begin
    stage.page.locator(".tl-stage").focus()
    begin, end = stage.changed_view(lambda: stage.page.keyboard.press("0"))
    assert begin <= meta["begin_ps"] and end >= meta["end_ps"]


def track_names(page: Page) -> list[str]:
    return page.locator(".tl-track .tl-text").all_inner_texts()


def menu_of(page: Page, name: str, item: str) -> None:
    page.get_by_role("button", name=f"Track {name}").first.click()
    page.get_by_role("button", name=item, exact=True).click()


def test_tracks_are_hidden_and_shown_again(stage: Stage) -> None:
    page = stage.page
    before = track_names(page)
    menu_of(page, "tf_exec", "Hide")
    expect(page.locator(".tl-track .tl-text", has_text="tf_exec")).to_have_count(0)
    page.get_by_role("button", name=re.compile("Tracks")).click()
    page.locator(".tl-tracks").get_by_role("button", name="tf_exec").click()
    expect(page.locator(".tl-track .tl-text")).to_have_text(before)


def test_a_pinned_track_stays_while_the_others_scroll(stage: Stage) -> None:
    page = stage.page
    menu_of(page, "tf_exec", "Pin to the top")
    first = page.locator(".tl-gutter-part").first
    expect(first).to_contain_text("tf_exec")
    # Apart from its section it says which one that is.
    expect(first).to_contain_text("CPU")
    place = stage.place("IteratorGetNext", 3)
    stage.open(view=f"{place['begin_ps']}~{place['end_ps']}", pin=str(place["track"]))
    box = stage.box
    y = box["y"] + 2 + place["lane"] * 17 + 8
    assert stage.pixel(box["x"] + box["width"] / 2, y) != BACKGROUND


def test_tracks_move_fold_filter_and_grow(stage: Stage) -> None:
    page = stage.page
    before = track_names(page)
    # Neighbours within the section of the device.
    first, second = before[0], before[1]
    menu_of(page, second, "Move up")
    expect(page.locator(".tl-track .tl-text").first).to_have_text(second)
    menu_of(page, second, "Move down")
    expect(page.locator(".tl-track .tl-text").first).to_have_text(first)
    tall = page.locator('.tl-track[title^="tf_exec"]')
    old = tall.bounding_box()
    assert old is not None
    menu_of(page, "tf_exec", "Increase height")
    page.wait_for_timeout(100)
    new = tall.bounding_box()
    assert new is not None and new["height"] > old["height"] * 1.3
    page.get_by_role("button", name="Lanes of tf_exec").click()
    page.wait_for_timeout(100)
    folded = tall.bounding_box()
    assert folded is not None and folded["height"] < new["height"]
    page.get_by_role("button", name=re.compile("Tracks")).click()
    page.get_by_label("Filter tracks").fill("exec")
    expect(page.locator(".tl-track .tl-text")).to_have_text(["tf_exec"])
    page.get_by_label("Filter tracks").fill("")
    page.get_by_role("button", name="Collapse all sections").click()
    expect(page.locator(".tl-track")).to_have_count(0)
    page.get_by_role("button", name="Expand all").click()
    expect(page.locator(".tl-track .tl-text")).to_have_count(len(before))


def test_the_edge_of_a_track_is_dragged(stage: Stage) -> None:
    page = stage.page
    row = page.locator('.tl-track[title^="tf_exec"]')
    old = row.bounding_box()
    assert old is not None
    x, y = old["x"] + 60, old["y"] + old["height"]
    stage.drag((x, y), (x, y + 40))
    page.wait_for_timeout(100)
    new = row.bounding_box()
    assert new is not None and abs(new["height"] - old["height"] - 40) < 6


def test_colours_by_name_category_and_step(stage: Stage) -> None:
    page = stage.page
    kernels = [stage.place(KERNEL, nth) for nth in (3, 4)]
    stage.open(view=f"{kernels[0]['begin_ps'] - 10**8}~{kernels[1]['end_ps'] + 10**8}")
    # At the end of an event there is no letter of its name.
    points = [stage.point(kernel, 0.985) for kernel in kernels]
    by_name = [stage.pixel(*point) for point in points]
    assert by_name[0] == by_name[1] != BACKGROUND
    page.get_by_role("button", name="View").click()
    page.get_by_label("Category").check()
    page.wait_for_timeout(200)
    by_category = [stage.pixel(*point) for point in points]
    assert by_category[0] == by_category[1] != by_name[0]
    page.get_by_label("Step", exact=True).check()
    page.wait_for_timeout(200)
    by_step = [stage.pixel(*point) for point in points]
    assert by_step[0] != by_step[1]
    stage.wait_param("colours", "step")


def test_arrows_lead_from_launches_to_kernels(stage: Stage) -> None:
    page = stage.page
    kernel = stage.place(KERNEL, 5)
    launch = stage.ask("event", id=kernel["event"])["into"][0]
    stage.open(view=f"{launch['begin_ps'] - 10**8}~{kernel['end_ps'] + 10**8}")
    start, goal = stage.point(launch, 0), stage.point(kernel, 0)
    # On the straight line halfway between the two, where the arrow's curve passes.
    middle = ((start[0] + goal[0]) / 2, (start[1] + goal[1]) / 2)
    around = [(middle[0] + dx, middle[1] + dy) for dx in range(-8, 9, 2) for dy in range(-8, 9, 2)]
    before = [stage.pixel(*point) for point in around]
    page.keyboard.press("e")
    page.wait_for_timeout(900)
    assert [stage.pixel(*point) for point in around] != before
    page.keyboard.press("e")
    page.wait_for_timeout(600)
    assert [stage.pixel(*point) for point in around] == before


def test_a_link_restores_the_whole_view(stage: Stage) -> None:
    page = stage.page
    kernel = stage.place(KERNEL, 5)
    stage.around(kernel, 10)
    stage.page.mouse.click(*stage.point(kernel))
    menu_of(page, "tf_exec", "Pin to the top")
    page.keyboard.press("t")
    page.wait_for_timeout(500)
    address = page.url
    for part in ("tl.view=", "tl.event=", "tl.pin=", "tl.marks="):
        assert part in address
    colour = stage.pixel(*stage.point(kernel, 0.3))
    page.goto("about:blank")
    page.goto(address)
    stage.settle()
    expect(page.locator(".tl-event h2")).to_have_text("ampere_sgemm_s1688")
    expect(page.locator(".tl-marks")).to_contain_text("Mark at")
    page.wait_for_timeout(500)
    assert page.url == address
    assert stage.pixel(*stage.point(kernel, 0.3)) == colour != BACKGROUND


def test_help_lists_the_keys(stage: Stage) -> None:
    stage.page.locator(".tl-stage").focus()
    stage.page.keyboard.press("?")
    dialog = stage.page.get_by_role("dialog")
    expect(dialog).to_contain_text("Timeline shortcuts")
    expect(dialog).to_contain_text("Previous and next event on the lane")
    stage.page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


def test_what_is_in_view_is_saved(stage: Stage) -> None:
    kernel = stage.place(KERNEL, 5)
    stage.around(kernel, 4)
    stage.page.get_by_role("button", name="Save").click()
    with stage.page.expect_download() as waiting:
        stage.page.get_by_role("link", name="Perfetto trace").nth(1).click()
    saved = Path(waiting.value.path()).read_bytes()
    assert b"ampere_sgemm_s1688" in saved


def test_all_hosts_stand_on_one_axis(open_page: Opener) -> None:
    page = open_page("#/trace_viewer?run=gpu")
    page.locator(".tl-progress.idle").wait_for()
    sections = " ".join(page.locator(".tl-section").all_inner_texts())
    assert "worker-0" in sections and "worker-1" in sections


def test_hostile_names_are_drawn_and_do_nothing(open_page: Opener) -> None:
    page = open_page("#/trace_viewer?run=hostile")
    page.locator(".tl-progress.idle").wait_for()
    page.locator(".tl-stage").click(position={"x": 300, "y": 60})
    assert (
        page.evaluate("() => document.querySelectorAll('.timeline script, .timeline img').length")
        == 0
    )


def test_a_server_that_goes_away_is_said(
    open_page: Opener, recordings: Path, page: Page, allowed_errors: list[str]
) -> None:
    # A request that was under way when the server went ends empty, one made later is refused.
    allowed_errors += ["ERR_CONNECTION_REFUSED", "ERR_EMPTY_RESPONSE", "ERR_CONNECTION_RESET"]
    allowed_errors.append("request to")
    with Server(str(recordings), Settings(port=0)) as brief:
        page.goto(brief.url)
        page.goto(f"http://127.0.0.1:{brief.port}/#/trace_viewer?run=gpu&host=worker-0")
        page.locator(".tl-progress.idle").wait_for()
        page.wait_for_load_state("networkidle")  # what the other tools lack is asked for last
    page.mouse.move(700, 400)
    page.keyboard.press("w", delay=400)
    expect(page.locator(".tl-trouble")).to_contain_text("does not answer")


def test_two_thousand_depths_and_a_name_of_100_kb_are_drawn(page: Page, tmp_path: Path) -> None:
    deep = [Event(f"f{depth}", depth * 0.01, 1000 - depth * 0.02) for depth in range(2000)]
    long = Event("n" * 100_000, 10, 5)
    file = tmp_path / "deep.xplane.pb"
    file.write_bytes(space(host(line("deep", *deep), line("long", long, id=-5))))
    with Server(str(file), Settings(port=0)) as brief:
        page.goto(brief.url)
        page.goto(f"http://127.0.0.1:{brief.port}/#/trace_viewer")
        stage = Stage(page, f"http://127.0.0.1:{brief.port}/")
        stage.settle()
        page.get_by_role("button", name="1,976 more lanes").click()
        page.evaluate("() => { document.querySelector('.tl-scroller').scrollTop = 1500 * 17 }")
        page.wait_for_timeout(300)
        stage.settle()
        box = stage.box
        x, y = box["x"] + box["width"] / 2, box["y"] + 200
        assert stage.pixel(x, y) != BACKGROUND
        page.mouse.move(x, y)
        expect(page.locator(".tl-card")).to_contain_text(re.compile(r"^f15\d\d"))
        expect(page.locator(".tl-track .tl-text").first).to_be_in_viewport()


@pytest.mark.only_browser("chromium")  # runs in a world of its own, over its protocol
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", ["", "event", "range", "search"])
def test_axe_finds_nothing(stage: Stage, scheme: str, view: str) -> None:
    page = stage.page
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    kernel = stage.place(KERNEL, 5)
    parts = {
        "": {},
        "event": {"event": str(kernel["event"])},
        "range": {"range": f"{kernel['begin_ps']}~{kernel['end_ps']}"},
        "search": {"q": KERNEL},
    }
    stage.open(**parts[view])
    page.wait_for_load_state("networkidle")
    assert violations(page) == []


def test_a_track_is_dragged_by_its_name_and_escape_gives_it_up(stage: Stage) -> None:
    page = stage.page
    names = page.locator('.tl-track[title^="python"], .tl-track[title^="tf_exec"]')
    before = names.locator(".tl-text").all_inner_texts()
    boxes = [names.nth(i).bounding_box() for i in range(2)]
    assert boxes[0] is not None and boxes[1] is not None
    start = boxes[0]["x"] + 60, boxes[0]["y"] + 8
    end = start[0], boxes[1]["y"] + boxes[1]["height"] - 2
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=5)
    expect(page.locator(".tl-drop")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.locator(".tl-drop")).to_have_count(0)
    page.mouse.up()
    assert names.locator(".tl-text").all_inner_texts() == before
    stage.drag(start, end)
    expect(names.locator(".tl-text").first).to_have_text(before[1])
    assert names.locator(".tl-text").all_inner_texts() == before[::-1]
    page.wait_for_function("() => location.hash.includes('tl.moves=')")
    page.reload()
    stage.settle()
    assert names.locator(".tl-text").all_inner_texts() == before[::-1]


def test_the_end_of_an_arrow_that_is_not_on_the_screen_is_named_and_gone_to(stage: Stage) -> None:
    launch = stage.place("cuLaunchKernel", 5)
    details = stage.ask("event", id=launch["event"])
    kernel = next(link for link in details["out_of"] if "sgemm" in link["name"])
    # The launch fills the view: its kernel begins beyond the right edge.
    stage.open(view=f"{launch['begin_ps']}~{launch['end_ps']}", event=str(launch["event"]))
    stage.page.locator(".tl-panel").wait_for()
    stage.page.wait_for_timeout(300)
    # Its name is at the edge, on the kernel's lane.
    label = stage.page.locator('.tl-track[title^="Stream"]').first.bounding_box()
    assert label is not None
    box = stage.box
    x = box["x"] + box["width"] - 20
    y = label["y"] + 2 + kernel["lane"] * 17 + 8
    stage.page.mouse.move(x, y)
    expect(stage.page.locator(".tl-stage")).to_have_class(re.compile("on-tag"))
    stage.page.mouse.click(x, y)
    stage.wait_param("event", str(kernel["event"]))
    begin, end = stage.view()
    assert begin <= kernel["begin_ps"] and kernel["end_ps"] <= end
