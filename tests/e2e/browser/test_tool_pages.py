"""The tools' own pages: charts have content, read by keys, export, and are accessible."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Locator, Page, expect

from stepscope.surfaces.http import Server, Settings
from stepscope.surfaces.http.app import STATIC_FOLDER
from tests.e2e.browser.conftest import Opener
from tests.e2e.browser.tool_recordings import RECORDINGS
from tests.profiles import worked_example

# Page, run, and the charts it has with it.
PAGES = {
    "memory_profile": ("heap", ["Use over time", "Peaks of all memories"]),
    "device_idle": ("gpu", ["What the host does in that time"]),
    "roofline_model": ("compiled", ["Roofline"]),
    "utilization_viewer": (
        "counters",
        ["Units compared with their peaks", "Parts and states of units"],
    ),
    "op_profile": ("compiled", ["Nodes by time"]),
    "input_pipeline_analyzer": (
        "pipeline",
        ["Average step", "Step times", "What the host does for input"],
    ),
    "tf_data_bottleneck_analysis": ("pipeline", ["What to change", "Pipeline graph"]),
    "pod_viewer": ("pod", ["Step 0 on 4 workers", "Step times"]),
    "memory_viewer": ("compiled", ["Heap in program order", "At the peak"]),
    "graph_viewer": ("compiled", ["Graph"]),
    "inference_profile": ("server", ["Latency by percentile", "Time by batch size"]),
}
# Tools on the page that all have who have none of their own, and their first table.
GENERIC = {
    "hlo_stats": ("compiled", "Ops"),
    "kernel_stats": ("gpu", "Kernels"),
    "megascale_stats": ("slices", "Collectives"),
    "perf_counters": ("counters", "Counters"),
}
SHAPES = "path[d]:not([d='']), rect, circle"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The server over one recording for each page."""
    if not (STATIC_FOLDER / "index.html").is_file():
        pytest.skip("the web files are not built: python dev.py web")
    root = tmp_path_factory.mktemp("tools")
    recordings = RECORDINGS | {"gpu/host.xplane.pb": worked_example(gpu=True, steps=6)}
    for name, content in recordings.items():
        path = root / "plugins" / "profile" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    with Server(str(root), Settings(port=0)) as running:
        yield running


def opened(open_page: Opener, tool: str, query: str = "") -> Page:
    run, _ = (PAGES | GENERIC)[tool]
    page = open_page(f"#/{tool}?run={run}{query}")
    page.locator(".tool-page, .generic").wait_for()
    return page


def chart(page: Page, title: str) -> Locator:
    heading = page.locator("h2", has_text=re.compile(rf"^{re.escape(title)}"))
    return page.locator("section.chart", has=heading).first


def drawing(page: Page, title: str) -> Locator:
    return chart(page, title).locator("svg:not(.swatch)").first


@pytest.mark.parametrize("tool", PAGES)
def test_every_chart_of_a_page_has_content(open_page: Opener, tool: str) -> None:
    page = opened(open_page, tool, "&view.step=0")
    for title in PAGES[tool][1]:
        sizes = (
            drawing(page, title)
            .locator(SHAPES)
            .evaluate_all(
                "shapes => shapes.map(s => s.getBBox())"
                ".filter(b => b.width > 2 || b.height > 2).length"
            )
        )
        assert sizes > 0, title
    answer = ".facts" if tool == "op_profile" else ".figures, .graph-view"
    assert page.locator(answer).count() > 0, "the answer comes first"


@pytest.mark.parametrize("tool", PAGES)
def test_no_axis_tick_stands_without_its_unit(open_page: Opener, tool: str) -> None:
    page = opened(open_page, tool)
    for text in page.locator(".line-chart .axis text").all_text_contents():
        bare = re.fullmatch(r"[\d.,e-]+", text)
        # Counted things (steps, points, sizes) and pure numbers of a logarithmic axis have none;
        # their axis is named.
        assert not bare or tool in {
            "pod_viewer",
            "memory_viewer",
            "inference_profile",
            "roofline_model",
            "memory_profile",
        }, text
    for frame in page.locator(".line-chart").all():
        assert frame.locator(".axis text").count() > 3


@pytest.mark.parametrize("tool", GENERIC)
def test_a_tool_without_a_page_of_its_own_shows_its_tables(open_page: Opener, tool: str) -> None:
    page = opened(open_page, tool)
    heading = page.locator("h2", has_text=re.compile(rf"^{GENERIC[tool][1]}\b"))
    table = page.locator("section", has=heading).last
    expect(table.locator('[role="row"]').nth(2)).to_be_visible()


@pytest.mark.parametrize("tool", [*PAGES, *GENERIC])
def test_a_narrow_page_scrolls_only_downwards(page: Page, open_page: Opener, tool: str) -> None:
    page.set_viewport_size({"width": 800, "height": 700})
    opened(open_page, tool)
    page.wait_for_load_state("networkidle")
    excess = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    assert excess <= 0


@pytest.mark.parametrize("tool", PAGES)
def test_every_chart_saves_as_a_drawing_that_stands_alone(
    open_page: Opener, tool: str, tmp_path: Path
) -> None:
    page = opened(open_page, tool, "&view.step=0")
    for title in PAGES[tool][1]:
        frame = chart(page, title)
        frame.get_by_role("button", name="Save chart").click()
        with page.expect_download() as svg:
            frame.get_by_role("button", name="SVG drawing").click()
        saved = tmp_path / "chart.svg"
        svg.value.save_as(saved)
        text = saved.read_text(encoding="utf-8")
        root = ElementTree.fromstring(text)
        drawn = [one for one in root.iter() if one.tag.endswith(("path", "rect", "circle"))]
        assert len(drawn) > 1, f"{title}: only its paper"
        assert any(one.tag.endswith("text") and one.text for one in root.iter()), title
        assert "var(--" not in text and "class=" not in text, "it needs no style sheet"
        assert root[0].get("fill") == "rgb(255, 255, 255)", "it brings its paper"
        words = "".join(root.itertext())
        for key in frame.locator(".part-key li, .legend-name").all_inner_texts():
            assert key.strip() in words, f"{title}: its key is left behind"


def test_a_chart_saves_as_an_image(open_page: Opener) -> None:
    page = opened(open_page, "memory_profile")
    frame = chart(page, "Use over time")
    frame.get_by_role("button", name="Save chart").click()
    with page.expect_download() as png:
        frame.get_by_role("button", name="PNG image").click()
    path = png.value.path()
    assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert path.stat().st_size > 5000


@pytest.mark.parametrize(
    ("tool", "title"),
    [(tool, title) for tool, (_, titles) in PAGES.items() for title in titles],
)
def test_every_chart_is_also_a_table(open_page: Opener, tool: str, title: str) -> None:
    if title in {"Average step", "What to change"}:
        pytest.skip("its numbers are under it")
    page = opened(open_page, tool, "&view.step=0")
    frame = chart(page, title)
    frame.get_by_role("button", name="Show as table").click()
    expect(frame.locator('[role="grid"], table').first).to_be_visible()
    frame.get_by_role("button", name="Show as chart").click()
    expect(frame.locator("svg:not(.swatch)").first).to_be_visible()


# ---------------------------------------------------------------------------------- memory


def test_memory_names_its_peak_and_what_held_it(open_page: Opener) -> None:
    page = opened(open_page, "memory_profile")
    # Weights 96, stack 8, activations 4 + 5 + … + 15 = 114 MiB: 218 of 1024 MiB.
    expect(page.locator(".answer h2")).to_contain_text("218 MiB of its 1.00 GiB")
    expect(page.locator(".answer h2")).to_contain_text("(21 %)")
    expect(page.locator(".marker text")).to_have_text("peak 218 MiB")
    expect(page.locator(".grid-foot")).to_contain_text("218 MiB")


def test_memory_is_chosen_and_kept_in_the_address(open_page: Opener) -> None:
    page = opened(open_page, "memory_profile")
    page.get_by_role("button", name="Memory: GPU_0_bfc").click()
    page.get_by_role("combobox").fill("GPU:1")
    page.keyboard.press("Enter")
    expect(page.locator(".answer h2")).to_contain_text("218 MiB of its 512 MiB")
    assert "view.memory=GPU_1_bfc" in page.url


def test_the_course_of_memory_is_read_by_keys(open_page: Opener) -> None:
    page = opened(open_page, "memory_profile")
    page.get_by_text("Events", exact=True).click()
    course = page.get_by_role("group", name="Use of GPU_0_bfc")
    course.focus()
    page.keyboard.press("Home")
    tip = page.locator(".tip")
    expect(tip).to_contain_text("allocation")
    expect(tip).to_contain_text("+4.00 MiB")
    expect(tip).to_contain_text("layer_0/Relu")
    expect(tip).to_contain_text("output")
    page.keyboard.press("End")
    expect(tip).to_contain_text("deallocation")
    expect(tip).to_contain_text("−4.00 MiB")
    page.get_by_role("button", name="Show as table").first.click()
    events = page.get_by_role("grid", name="Memory events")
    expect(events).to_contain_text("deallocation")
    # Only the fullest of each interval are listed: what is taken and given back sums to nothing.
    expect(events.get_by_text("Sum", exact=True)).to_have_count(0)


def test_a_drag_over_memory_asks_for_that_stretch(open_page: Opener) -> None:
    page = opened(open_page, "memory_profile")
    box = drawing(page, "Use over time").bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.3, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, middle, steps=4)
    page.mouse.up()
    page.wait_for_function("() => location.hash.includes('from_ms=')")
    page.get_by_role("button", name="Zoom out").click()
    page.wait_for_function("() => !location.hash.includes('from_ms=')")


# ------------------------------------------------------------------------------------ work


def test_work_is_grouped_by_one_thing_within_another(open_page: Opener) -> None:
    page = open_page("#/work?run=gpu")
    rows = page.get_by_role("grid", name="Work").locator('.grid-rows [role="row"]')
    answer = page.locator(".answer h2")
    expect(answer).to_have_text(re.compile(r"^\w+: \d+\s% of the .* on devices"))
    name = rows.first.locator(".cell").first.inner_text()
    rows.first.click()
    page.locator(".drawer").get_by_role("button", name="Its kernels").click()
    page.wait_for_function("() => location.hash.includes('group_by=kernel')")
    expect(answer).to_contain_text(f"Within {name}: ")
    expect(rows.first).to_contain_text("100.0%")
    page.get_by_role("button", name="Show all work").click()
    expect(answer).not_to_contain_text("Within")


def test_a_link_of_the_details_keeps_the_thing_open(open_page: Opener) -> None:
    page = open_page("#/hlo_stats?run=compiled&ops.row=dot.11")
    details = page.locator(".drawer")
    expect(details).to_contain_text("Could be")
    details.get_by_role("link", name="Roofline").click()
    page.wait_for_function("() => location.hash.includes('roofline_model')")
    # View and thing are one address; going back is one step.
    assert "ops.row=dot.11" in page.url
    expect(page.locator(".drawer")).to_contain_text("Could be")
    page.go_back()
    expect(page.locator("main h1")).to_have_text("HLO Ops")


# -------------------------------------------------------------------------------- roofline


def test_a_point_of_the_roofline_filters_the_table(open_page: Opener) -> None:
    page = opened(open_page, "roofline_model")
    expect(page.locator(".ceiling text").first).to_be_visible()
    page.get_by_role("group", name="Roofline of").focus()
    page.keyboard.press("Home")
    # A product of 256 × 256: 2 · 256³ FLOPs over 3 · 256² · 4 bytes.
    expect(page.locator(".tip")).to_contain_text("42.7 FLOP/B")
    page.keyboard.press("Enter")
    expect(page.locator(".grid-count").first).to_contain_text("1 of 24")


def test_a_rectangle_on_the_roofline_becomes_conditions(open_page: Opener) -> None:
    page = opened(open_page, "roofline_model")
    box = drawing(page, "Roofline").bounding_box()
    assert box is not None
    # The right half: sums, of 1/12 FLOP a byte, lie to the left of it.
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 20, box["y"] + box["height"] - 50, steps=4)
    page.mouse.up()
    page.wait_for_function("() => location.hash.includes('ops.if=')")
    expect(page.locator(".grid-count").first).to_contain_text("12 of 24")


# ------------------------------------------------------------------------------ utilization


def test_a_units_bar_is_as_long_as_its_share_of_the_peak(open_page: Opener) -> None:
    page = opened(open_page, "utilization_viewer")
    # (0.2 / 2 + 0.5) of the first chip's cycles, half of that of the second's.
    expect(page.locator(".answer h2")).to_contain_text("MXU is the busiest unit, at 45.0 % of its")
    row = drawing(page, "Units compared").locator("g", has_text=re.compile(r"^MXU:")).first
    expect(row.locator("title")).to_contain_text("45.0% (30.0% to 60.0%); on average 1,181,250 of")
    track, bar = (
        row.locator(shape).evaluate("rect => rect.getBBox().width")
        for shape in (".bar-track", ".plain-bar")
    )
    assert bar / track == pytest.approx(0.45, abs=0.005)


def test_counters_that_were_not_recorded_are_named(open_page: Opener) -> None:
    page = opened(open_page, "utilization_viewer")
    section = page.locator("section", has_text="Counters that were not recorded").first
    expect(section).to_contain_text("ICI, read")
    expect(section).to_contain_text("bn_rd_req_0_insertion_count")


# ------------------------------------------------------------------------------ op profile


def test_the_tree_opens_and_closes_by_keys(open_page: Opener) -> None:
    page = opened(open_page, "op_profile")
    tree = page.get_by_role("treegrid")
    tree.focus()
    page.keyboard.press("Home")
    rows = tree.locator('[role="row"][aria-level]')
    before = rows.count()
    page.keyboard.press("ArrowLeft")
    expect(rows).to_have_count(1)
    page.keyboard.press("ArrowRight")
    expect(rows).to_have_count(before)
    expect(tree.locator('[aria-selected="true"]')).to_have_count(1)


def test_modules_are_a_picture_and_open_level_by_level(open_page: Opener) -> None:
    page = open_page("#/module_tree?run=modules")
    tree = page.get_by_role("treegrid", name="Modules")
    rows = tree.locator('[role="row"][aria-level]')
    expect(rows.first).to_contain_text("Net_0")
    expect(rows).to_have_count(3)
    assert [row.get_attribute("aria-level") for row in rows.all()] == ["1", "2", "3"]
    assert page.locator(".slice").count() == 3
    # Its names come indented, for terminals.
    assert page.locator(".slice text").all_text_contents() == ["Net_0", "Layer_0", "Linear_0"]
    tree.focus()
    for key in ("Home", "ArrowLeft"):
        page.keyboard.press(key)
    expect(rows).to_have_count(1)


def test_the_tree_finds_names_wherever_they_are(open_page: Opener) -> None:
    page = opened(open_page, "op_profile")
    page.get_by_label("Filter the tree").fill("dot.7")
    names = page.get_by_role("treegrid").locator(".tree-name").all_inner_texts()
    assert any("dot.7" in name.replace("\n", "") for name in names)
    assert not any("dot.6" in name.replace("\n", "") for name in names)


def test_a_slice_is_looked_at_closer_and_left_again(open_page: Opener) -> None:
    page = opened(open_page, "op_profile")
    page.locator(".slice").nth(1).click()
    page.wait_for_function("() => location.hash.includes('view.focus=')")
    page.get_by_role("button", name="Up from").click()
    page.wait_for_function("() => !location.hash.includes('view.focus=')")


# --------------------------------------------------------------------------- input, tf.data


def test_the_input_page_begins_with_the_verdict(open_page: Opener) -> None:
    page = opened(open_page, "input_pipeline_analyzer")
    expect(page.locator(".verdict-line")).to_contain_text("input-bound")
    expect(page.locator(".figures")).to_contain_text("Waiting for input")
    page.get_by_role("link", name="tf.data Bottleneck").first.click()
    expect(page.locator("main h1")).to_have_text("tf.data Bottleneck")


def test_the_pipeline_graph_marks_the_bottleneck(open_page: Opener) -> None:
    page = opened(open_page, "tf_data_bottleneck_analysis")
    expect(page.locator(".graph-box")).to_have_count(4)
    expect(page.locator(".graph-box.bottleneck .graph-name")).to_have_text("Map")
    # Calls wait 300, 310, … 410 µs and 20 around it: the slowest takes 430.
    expect(page.locator(".figures")).to_contain_text("430 µs")
    page.get_by_role("button", name="Call: mean of all calls").click()
    page.get_by_role("option", name="slowest").click()
    page.wait_for_function("() => location.hash.includes('rank=0')")
    expect(chart(page, "Pipeline graph")).to_contain_text("call 1 of 12")


def test_means_of_hosts_are_not_added_up(open_page: Opener) -> None:
    run, _ = PAGES["pod_viewer"]
    page = open_page(f"#/input_pipeline_analyzer?run={run}")
    hosts = page.get_by_role("grid", name="Hosts")
    expect(hosts).to_contain_text("Mean step time")
    expect(hosts.get_by_text("Sum", exact=True)).to_have_count(0)


# ------------------------------------------------------------------------------------ pods


def test_the_pod_names_its_straggler_and_shows_any_step(open_page: Opener) -> None:
    page = opened(open_page, "pod_viewer")
    expect(page.locator(".verdict-line")).to_contain_text("worker 3")
    slider = page.get_by_role("slider", name="Step")
    slider.focus()
    page.keyboard.press("End")
    expect(page.locator("h2", has_text="Step 11 on 4 workers")).to_be_visible()
    columns = page.get_by_role("group", name="Step times of 4 workers")
    columns.focus()
    page.keyboard.press("End")
    expect(page.locator(".tip")).to_contain_text("worker-1 /device:GPU:1")
    # 420 µs of compute.
    expect(page.locator(".tip")).to_contain_text("420 µs")


# ---------------------------------------------------------------------------- memory viewer


def test_what_is_alive_follows_the_point_chosen(open_page: Opener) -> None:
    page = opened(open_page, "memory_viewer")
    expect(page.locator("h2", has_text="At the peak")).to_have_count(2)
    page.get_by_role("group", name="Memory in use").focus()
    page.keyboard.press("Home")
    expect(page.locator(".tip")).to_contain_text("Point 0")
    page.keyboard.press("Enter")
    # Before the first instruction only the parameter and the result hold memory.
    expect(page.locator("h2", has_text="At point 0: the largest of 2 buffers")).to_be_visible()


# ---------------------------------------------------------------------------- graph viewer


def test_the_graph_goes_where_it_is_led(open_page: Opener) -> None:
    page = opened(open_page, "graph_viewer")
    expect(page.locator(".graph-box.critical .graph-name")).to_have_text("dot.11")
    page.get_by_role("group", name="Graph of").focus()
    page.keyboard.press("ArrowUp")
    expect(page.locator(".tip")).to_be_visible()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.wait_for_function("() => location.hash.includes('node=')")
    expect(page.locator(".graph-box.critical")).to_have_count(1)
    page.get_by_role("button", name="Instruction: ").click()
    page.get_by_role("combobox").fill("dot.3")
    page.keyboard.press("Enter")
    expect(page.locator(".answer h2")).to_contain_text("Around dot.3")


def test_the_graph_reaches_as_far_as_asked(open_page: Opener) -> None:
    page = opened(open_page, "graph_viewer")
    expect(page.locator(".answer h2")).to_contain_text(": 8 instructions")
    page.get_by_role("slider", name="Distance").fill("8")
    page.wait_for_function("() => location.hash.includes('radius=8')")
    expect(page.locator(".answer h2")).not_to_contain_text(": 8 instructions")


def test_the_graph_is_moved_and_enlarged(open_page: Opener) -> None:
    page = opened(open_page, "graph_viewer")
    group = page.locator(".graph-view > svg > g")
    before = group.get_attribute("transform")
    page.get_by_role("button", name="Zoom in").click()
    larger = group.get_attribute("transform")
    assert larger != before
    page.get_by_role("group", name="Graph of").focus()
    page.keyboard.press("0")
    assert group.get_attribute("transform") != larger


def test_a_whole_computation_is_drawn_with_its_text(open_page: Opener) -> None:
    page = opened(open_page, "graph_viewer", "&node=main")
    # x, and a product and a sum for each of 12 layers.
    expect(page.locator(".answer h2")).to_contain_text("25 instructions")
    page.locator("summary", has_text="HLO text").click()
    expect(page.locator(".hlo-text")).to_contain_text("dot(")


def test_an_address_that_names_nothing_leads_back(
    open_page: Opener, allowed_errors: list[str]
) -> None:
    allowed_errors.append("400")
    page = open_page("#/graph_viewer?run=compiled&node=no.such")
    expect(page.locator(".notice h2")).to_contain_text("no.such")
    page.get_by_role("link", name="Start over").click()
    expect(page.locator(".answer h2")).to_contain_text("Around dot.11")


# ------------------------------------------------------------------------------- inference


def test_latency_is_read_at_every_percentile(open_page: Opener) -> None:
    page = opened(open_page, "inference_profile")
    page.get_by_role("group", name="Latency of 60 requests").focus()
    page.keyboard.press("End")
    expect(page.locator(".tip")).to_contain_text("100.0% take at most")
    expect(page.locator(".tip")).to_contain_text("bert:1")


def test_a_page_that_is_left_asks_no_further(open_page: Opener) -> None:
    page = opened(open_page, "kernel_stats")
    page.route("**/api/v1/tool/op_profile*", lambda _route: None)  # Never answered.
    with page.expect_request("**/api/v1/tool/op_profile*") as asked:
        page.locator(".tabs a", has_text="Op Profile").click()
    with page.expect_event(
        "requestfailed", lambda request: request == asked.value, timeout=10_000
    ) as gone:
        page.locator(".tabs a", has_text="Kernels").click()
    assert "ABORTED" in (gone.value.failure or "")
    page.locator(".tool-page, .generic").wait_for()


def test_paper_keeps_no_blank_space_for_rows_that_are_not_drawn(
    page: Page, open_page: Opener
) -> None:
    opened(open_page, "kernel_stats")
    page.emulate_media(media="print")
    excess = page.evaluate(
        """() => [...document.querySelectorAll(".grid-rows")].map((each) =>
          each.getBoundingClientRect().bottom
          - each.firstElementChild.getBoundingClientRect().bottom)"""
    )
    assert excess and max(map(abs, excess)) <= 1
