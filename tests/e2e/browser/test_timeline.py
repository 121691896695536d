"""The timeline by hand: what is drawn, and what wheel, drag, fingers and keys make of it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Route, expect

from stepscope.surfaces.http import Server
from tests.e2e.browser.conftest import Opener
from tests.e2e.browser.timeline_stage import BACKGROUND, KERNEL, Stage, open_stage


@pytest.fixture
def stage(open_page: Opener, server: Server, allowed_errors: list[str]) -> Stage:
    """The timeline of the recorded GPU host."""
    return open_stage(open_page, server, allowed_errors)


def test_an_event_is_drawn_where_it_lies_and_told_under_the_pointer(stage: Stage) -> None:
    kernel = stage.place(KERNEL, 3)
    stage.around(kernel)
    inside = stage.point(kernel, 0.7)
    assert stage.pixel(*inside) != BACKGROUND
    assert stage.pixel(*stage.point(kernel, -0.5)) == BACKGROUND
    stage.page.mouse.move(*inside)
    card = stage.page.locator(".tl-card")
    expect(card).to_contain_text("ampere_sgemm_s1688")
    expect(card).to_contain_text("150 µs")
    stage.page.mouse.move(*stage.point(kernel, -0.5))
    expect(card).to_have_count(0)


def test_ctrl_and_the_wheel_zoom_at_the_pointer(stage: Stage) -> None:
    kernel = stage.place(KERNEL, 3)
    stage.around(kernel, 40)
    x, y = stage.point(kernel)
    stage.page.mouse.move(x, y)
    old_begin, old_end = stage.view()
    share = (x - stage.box["x"]) / stage.box["width"]

    def turn() -> None:
        stage.page.keyboard.down("Control")
        stage.page.mouse.wheel(0, -400)
        stage.page.keyboard.up("Control")

    begin, end = stage.changed_view(turn)
    assert end - begin < 0.7 * (old_end - old_begin)
    held = old_begin + share * (old_end - old_begin)
    assert abs(begin + share * (end - begin) - held) < 0.01 * (end - begin)


def test_shift_and_the_wheel_pan_and_the_wheel_alone_scrolls(stage: Stage) -> None:
    kernel = stage.place(KERNEL, 3)
    stage.around(kernel, 40)
    stage.page.mouse.move(*stage.point(kernel))
    old_begin, old_end = stage.view()

    def turn() -> None:
        stage.page.keyboard.down("Shift")
        stage.page.mouse.wheel(0, 200)
        stage.page.keyboard.up("Shift")

    begin, end = stage.changed_view(turn)
    assert begin > old_begin
    assert abs((end - begin) - (old_end - old_begin)) <= 2
    tracks = stage.ask("meta")["tracks"]
    heights = ",".join(f"{track['id']}-90" for track in tracks)
    stage.open(view=f"{begin}~{end}", heights=heights)
    stage.page.mouse.wheel(0, 60)
    stage.page.wait_for_function("() => document.querySelector('.tl-scroller').scrollTop > 0")
    assert stage.view() == (begin, end)


@pytest.mark.parametrize(
    ("key", "grows", "moves"), [("w", -1, 0), ("s", 1, 0), ("d", 0, 1), ("a", 0, -1)]
)
def test_w_a_s_d(stage: Stage, key: str, grows: int, moves: int) -> None:
    stage.around(stage.place(KERNEL, 20), 30)
    stage.page.mouse.move(stage.box["x"] + stage.box["width"] / 2, stage.box["y"] + 200)
    old_begin, old_end = stage.view()
    begin, end = stage.changed_view(lambda: stage.page.keyboard.press(key, delay=200))
    length, old = end - begin, old_end - old_begin
    assert (length > old * 1.02) - (length < old * 0.98) == grows
    shift = (begin + end - old_begin - old_end) / 2
    assert (shift > old * 0.02) - (shift < -old * 0.02) == moves


def test_arrow_keys_pan_while_nothing_is_selected(stage: Stage) -> None:
    stage.around(stage.place(KERNEL, 20), 30)
    old_begin, _ = stage.view()
    begin, _ = stage.changed_view(lambda: stage.page.keyboard.press("ArrowRight", delay=150))
    assert begin > old_begin


def test_the_pan_hand_drags_the_time(stage: Stage) -> None:
    stage.around(stage.place(KERNEL, 20), 30)
    stage.page.keyboard.press("2")
    expect(stage.page.get_by_role("button", name="Pan", exact=True)).to_have_attribute(
        "aria-pressed", "true"
    )
    old_begin, old_end = stage.view()
    box = stage.box
    x, y = box["x"] + 600, box["y"] + 100
    begin, end = stage.changed_view(lambda: stage.drag((x, y), (x - 200, y)))
    per_px = (old_end - old_begin) / box["width"]
    assert abs((begin - old_begin) - 200 * per_px) < 3 * per_px
    assert abs((end - begin) - (old_end - old_begin)) <= 2


def test_the_zoom_hand_drags_nearer(stage: Stage) -> None:
    stage.around(stage.place(KERNEL, 20), 30)
    stage.page.keyboard.press("3")
    old_begin, old_end = stage.view()
    x, y = stage.box["x"] + 300, stage.box["y"] + 300
    begin, end = stage.changed_view(lambda: stage.drag((x, y), (x, y - 120)))
    assert 0.4 < (end - begin) / (old_end - old_begin) < 0.6


def test_the_timing_hand_measures_and_marks(stage: Stage) -> None:
    kernel = stage.place(KERNEL, 5)
    stage.around(kernel, 3)
    stage.page.keyboard.press("4")
    left, right = stage.point(kernel, 0), stage.point(kernel, 1)
    stage.drag(left, right)
    measured = stage.page.locator(".tl-measured")
    expect(measured).to_contain_text("µs")
    begin, end = (int(part) for part in _waited(stage, "range").split("~"))
    assert abs((end - begin) - 150_000_000) < 3_000_000
    stage.page.mouse.click(*left)
    stage.page.mouse.click(*right)
    expect(stage.page.locator(".tl-marks")).to_contain_text("Between marks: 1")
    stage.page.locator(".tl-marks button").click()
    expect(stage.page.locator(".tl-marks")).to_have_count(0)


def _waited(stage: Stage, name: str) -> str:
    stage.page.wait_for_function(
        "(name) => new URLSearchParams(location.hash.split('?')[1]).has(name)", arg=f"tl.{name}"
    )
    return stage.param(name)


def test_a_box_gives_the_statistics_of_what_is_in_it(stage: Stage) -> None:
    kernel = stage.place(KERNEL, 5)
    stage.around(kernel, 30)
    left, right = stage.point(kernel, -8), stage.point(kernel, 9)
    stage.drag(left, right)
    panel = stage.page.locator(".tl-panel")
    expect(panel.locator("table").first).to_contain_text("ampere_sgemm_s1688")
    begin, end = _waited(stage, "range").split("~")
    truth = stage.ask("range", start_ps=begin, end_ps=end, tracks=stage.param("in"))
    assert int(stage.param("in")) == kernel["track"]
    expect(panel.locator(".tl-range-head")).to_contain_text(f"{truth['events']} events")
    rows = panel.locator("table").first.locator("tbody tr")
    expect(rows).to_have_count(len(truth["names"]))
    panel.get_by_role("button", name="Count").click()
    expect(panel.locator('th[aria-sort="descending"]')).to_contain_text("Count")


def test_a_click_selects_and_tells_parent_children_and_the_launch(stage: Stage) -> None:
    kernel = stage.place(KERNEL, 5)
    stage.around(kernel)
    stage.page.mouse.click(*stage.point(kernel))
    panel = stage.page.locator(".tl-event")
    expect(panel.locator("h2")).to_have_text("ampere_sgemm_s1688")
    expect(panel).to_contain_text("events with this name")
    stage.wait_param("event", str(kernel["event"]))
    panel.get_by_role("button", name="cuLaunchKernel").click()
    expect(panel.locator("h2")).to_have_text("cuLaunchKernel")
    expect(panel).to_contain_text("To (launch)")
    panel.get_by_role("button", name="MatMul").click()
    expect(panel.locator("h2")).to_contain_text("MatMul")
    expect(panel).to_contain_text("1 nested event")
    # The panel that opened below made the stage smaller; the event must still be in it.
    begin, end = stage.changed_view(lambda: stage.page.keyboard.press("f"))
    chosen = stage.ask("event", id=stage.param("event"))
    assert begin < chosen["begin_ps"] and end > chosen["end_ps"]


def test_the_panel_does_not_cover_the_event_it_tells_of(stage: Stage) -> None:
    heights = ",".join(f"{track['id']}-60" for track in stage.ask("meta")["tracks"])
    place = stage.place("IteratorGetNext", 3)
    stage.open(view=f"{place['begin_ps']}~{place['end_ps']}", heights=heights)
    row = stage.page.locator('.tl-track[title^="tf_exec"]')
    before = row.bounding_box()
    assert before is not None
    y = before["y"] + 2 + place["lane"] * 60 + 30
    stage.page.mouse.click(stage.box["x"] + 300, y)
    expect(stage.page.locator(".tl-event h2")).to_have_text("IteratorGetNext")
    stage.page.wait_for_timeout(300)
    after = row.bounding_box()
    assert after is not None
    box = stage.box
    top = after["y"] + place["lane"] * 60
    assert box["y"] <= top and top + 60 <= box["y"] + box["height"]
    assert before["y"] + place["lane"] * 60 + 60 > box["y"] + box["height"], "it had to move"


def test_double_click_zooms_to_the_event(stage: Stage) -> None:
    kernel = stage.place(KERNEL, 5)
    stage.around(kernel, 40)
    begin, end = stage.changed_view(lambda: stage.page.mouse.dblclick(*stage.point(kernel)))
    assert begin < kernel["begin_ps"] + 2_000_000 and end > kernel["end_ps"] - 2_000_000
    assert end - begin < 2 * (kernel["end_ps"] - kernel["begin_ps"])


def test_arrow_keys_go_through_every_event_of_a_lane(stage: Stage) -> None:
    hits = stage.ask("search", q=KERNEL, limit=50)["first"]
    copies = stage.ask("search", q="MemcpyH2D", limit=50)["first"]
    track = hits[0]["track"]
    lane = sorted(
        (each for each in hits + copies if each["track"] == track),
        key=lambda each: each["begin_ps"],
    )
    # From far away all of them are merged: the keys must split them.
    stage.open(event=str(lane[0]["event"]))
    panel = stage.page.locator(".tl-event")
    for each in lane[1:7]:
        stage.page.keyboard.press("ArrowRight")
        stage.wait_param("event", str(each["event"]))
        expect(panel.locator("h2")).to_have_text(each["name"])
    stage.page.keyboard.press("ArrowLeft")
    stage.wait_param("event", str(lane[5]["event"]))


def test_up_and_down_go_around_and_into_an_event(stage: Stage) -> None:
    inner = stage.place("IteratorGetNext", 2)
    outer = stage.ask("event", id=inner["event"])["parent"]
    stage.open(event=str(inner["event"]))
    expect(stage.page.locator(".tl-event h2")).to_have_text("IteratorGetNext")
    stage.page.keyboard.press("ArrowUp")
    stage.wait_param("event", str(outer["event"]))
    expect(stage.page.locator('[aria-live="polite"]')).to_contain_text("ExecutorState")
    expect(stage.page.locator(".tl-event h2")).to_have_text("ExecutorState::Process")
    stage.page.keyboard.press("ArrowDown")
    stage.wait_param("event", str(inner["event"]))
    stage.page.keyboard.press("Escape")
    expect(stage.page.locator(".tl-event")).to_have_count(0)


@pytest.mark.only_browser("chromium")  # fingers come over its own protocol
def test_two_fingers_zoom(stage: Stage) -> None:
    stage.around(stage.place(KERNEL, 20), 30)
    old_begin, old_end = stage.view()
    box = stage.box
    x, y = box["x"] + box["width"] / 2, box["y"] + 150
    remote = stage.page.context.new_cdp_session(stage.page)
    remote.send("Emulation.setTouchEmulationEnabled", {"enabled": True, "maxTouchPoints": 2})

    def touch(kind: str, apart: float) -> None:
        points = [] if kind == "touchEnd" else [{"x": x - apart, "y": y}, {"x": x + apart, "y": y}]
        for number, point in enumerate(points):
            point["id"] = number
        remote.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    def pinch() -> None:
        touch("touchStart", 50)
        for apart in (60, 80, 100):
            touch("touchMove", apart)
        touch("touchEnd", 0)

    begin, end = stage.changed_view(pinch)
    assert 0.4 < (end - begin) / (old_end - old_begin) < 0.6


def test_a_tile_that_fails_is_said_and_asked_for_again(
    stage: Stage, allowed_errors: list[str]
) -> None:
    allowed_errors.append("503")
    failing = True

    def fail(route: Route) -> None:
        if failing:
            route.fulfill(status=503, content_type="application/json", body='{"what": "Busy."}')
        else:
            route.continue_()

    stage.page.route("**/timeline/tile*", fail)
    kernel = stage.place(KERNEL, 30)
    length = kernel["end_ps"] - kernel["begin_ps"]
    view = f"{kernel['begin_ps'] - length}~{kernel['end_ps'] + length}"
    stage.page.goto(f"{stage.root}#/trace_viewer?run=gpu&host=worker-0&tl.view={view}")
    alert = stage.page.locator(".tl-trouble")
    expect(alert).to_contain_text("Busy.")
    failing = False
    expect(alert).to_have_count(0)
    stage.settle()
    assert stage.pixel(*stage.point(kernel, 0.7)) != BACKGROUND
