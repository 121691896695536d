"""The page of a pod of very many devices in Chromium: its first picture, and the bytes for it.

The pod is simulated and joined; the server has it ready, as at any opening but the first.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.pods.faults import FAULTS
from bench.pods.job import Layout, Simulation
from bench.pods.recorded import summaries
from dev import CHROMIUM_NAMES
from stepscope.pod.analyse import analyse
from stepscope.surfaces.http import Server, Settings
from stepscope.surfaces.http.pods import Pods

if TYPE_CHECKING:
    from stepscope.pod.report import Pod

_DEVICES = 8
_TRIES = 5
# From the navigation until the map has a colour other than that of its ground.
_PAINTED = """() => {
  const canvas = document.querySelector(".pod-map canvas");
  const data = canvas?.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  return data?.some((value) => value > 0) ? performance.now() : 0;
}"""
_BYTES = """() => performance.getEntriesByType("resource")
  .filter(({ name }) => name.includes("/api/v1/"))
  .reduce((sum, { transferSize }) => sum + transferSize, 0)"""
_MOVE = """async () => {
  const map = document.querySelector(".pod-map");
  const began = performance.now();
  map.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
  await Promise.resolve();
  await new Promise((done) => setTimeout(done, 0));
  return performance.now() - began;
}"""


@dataclass(frozen=True)
class PodPage:
    """What the page took.

    Attributes:
        devices: Of the pod.
        first_picture_s: From the navigation to the painted map, the median of some openings.
        payload_kb: What the page asked the API for until then, as transferred.
        hover_ms: To say what is at another cell, the worst of many.
    """

    devices: int
    first_picture_s: float
    payload_kb: float
    hover_ms: float

    def render(self) -> str:
        """One line."""
        return (
            f"page of {self.devices:,} devices: first picture {self.first_picture_s:.2f} s "
            f"(wanted 1.5), payload {self.payload_kb:,.0f} kB (wanted 400), "
            f"another cell {self.hover_ms:.1f} ms (wanted 16)"
        )


def pod_of(hosts: int) -> Pod:
    """A pod of so many hosts with a throttled device."""
    layout = Layout(4, hosts * _DEVICES // 16, 4, _DEVICES, layers=1, batches=1, steps=3, rack=16)
    fault, _ = FAULTS["gpu_throttled"](layout, 0.4, np.random.default_rng(1))
    return analyse(summaries(Simulation(layout, fault, 1).simulate(), 1), "simulated")


def page_of(pod: Pod, recordings: dict[str, bytes]) -> PodPage | None:
    """Open the page in Chromium; None without one.

    Args:
        pod: What it shows.
        recordings: Two small ones, for a run that the server can open.
    """
    browser = next((found for name in CHROMIUM_NAMES if (found := shutil.which(name))), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    if browser is None:
        return None
    real = Pods.answer
    with tempfile.TemporaryDirectory() as root, sync_playwright() as playwright:
        for name, data in recordings.items():
            (Path(root) / f"{name}.xplane.pb").write_bytes(data)
        setattr(Pods, "answer", lambda _pods, _request: pod)  # noqa: B010  # as if asked before
        chromium = playwright.chromium.launch(
            executable_path=browser, args=["--no-sandbox", "--disable-gpu"]
        )
        try:
            with Server(root, Settings(port=0)) as server:
                openings = [_opened(chromium, server.url) for _ in range(_TRIES)]
        finally:
            setattr(Pods, "answer", real)  # noqa: B010
            chromium.close()
    first, payload, hover = np.median(np.asarray(openings), axis=0).tolist()
    return PodPage(pod.devices_found, first / 1e3, payload / 1e3, hover)


def _opened(chromium: Any, url: str) -> tuple[float, float, float]:
    """Milliseconds to the picture, bytes for it, and the slowest of some moves over cells."""
    page = chromium.new_page(viewport={"width": 1440, "height": 900})
    try:
        page.goto(url + "#/pod")
        painted = page.wait_for_function(_PAINTED).json_value()
        payload = page.evaluate(_BYTES)
        page.locator(".pod-map").focus()
        moves = [page.evaluate(_MOVE) for _ in range(20)]
        return float(painted), float(payload), float(np.quantile(moves, 0.95))
    finally:
        page.close()
