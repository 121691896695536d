"""Where the step goes: what, how long and where from are in sight, whatever else is known."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from stepscope.surfaces.http import Server, Settings
from stepscope.surfaces.http.app import STATIC_FOLDER
from tests.e2e.browser.conftest import Opener
from tests.e2e.browser.test_tasks import python_loop
from tests.profiles import gpu, host, line, space, stream
from tests.profiles.model import EventLike

LAYERS = 12


def deep_model() -> bytes:
    """Ops of twelve layers whose long names differ in the middle."""
    main: list[EventLike] = []
    kernels: list[EventLike] = []
    for step in range(6):
        begin = 1000.0 * step
        main.append(("train", begin, 900.0, {"step_num": step, "_r": 1}))
        for layer in range(LAYERS):
            at = begin + 20 + 60 * layer
            path = f"replica_0/a_language_model/encoder/transformer/layer_{layer}/attention/dropout"
            op = {"tf_op": f"{path}/Cast:Cast", "correlation_id": LAYERS * step + layer}
            kernels.append(("sgemm", at, 50.0, op))
    return space(host(line("python", *main)), gpu(0, stream(7, *kernels)))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The server over a loop with Python in it, and over a model of many layers."""
    if not (STATIC_FOLDER / "index.html").is_file():
        pytest.skip("the web files are not built: python dev.py web")
    root: Path = tmp_path_factory.mktemp("account")
    for name, content in {"python": python_loop(), "deep": deep_model()}.items():
        folder = root / "plugins" / "profile" / name
        folder.mkdir(parents=True)
        (folder / "host.xplane.pb").write_bytes(content)
    with Server(str(root), Settings(port=0)) as running:
        yield running


def test_the_time_is_in_sight_beside_the_name(open_page: Opener) -> None:
    page = open_page("#/step_account?run=python")
    page.set_viewport_size({"width": 1280, "height": 720})
    for name in ("Parts", "Owners"):
        heads = page.get_by_role("grid", name=name).get_by_role("columnheader")
        expect(heads.nth(1)).to_contain_text("Kind")
        time = heads.filter(has_text="Time").first.bounding_box()
        assert time and time["x"] + time["width"] < 1280
    expect(page.locator(".figures")).to_contain_text("Largest part")
    expect(page.get_by_role("heading", name="Rivals")).to_have_count(0)
    expect(page.get_by_role("heading", name="Calls")).to_have_count(1)


def test_long_names_show_what_tells_them_apart(open_page: Opener) -> None:
    page = open_page("#/framework_op_stats?run=deep")
    grid = page.get_by_role("grid", name="Ops")
    expect(grid.locator(".long-name")).to_have_count(LAYERS)
    names = grid.locator(".long-name").all_inner_texts()
    shown = {name.replace("\n", "")[:12] for name in names}
    assert "…/layer_11/a" in shown
    assert len(shown) == LAYERS
    # What all rows say stands once, above them.
    expect(page.locator("main")).to_contain_text("Where: Device")
    assert "Where" not in grid.get_by_role("columnheader").all_inner_texts()


def test_parts_have_colours_where_no_utilisation_is_known(open_page: Opener) -> None:
    page = open_page("#/op_profile?run=deep")
    page.locator(".slice rect").first.wait_for()
    colours = page.locator(".slice rect").evaluate_all(
        "all => all.map(each => getComputedStyle(each).fill)"
    )
    assert len(set(colours)) > 2  # the whole, what is idle, and a part
