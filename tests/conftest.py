"""What all tests share: their tiers, where real profiles are, and what cannot run here."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest
from hypothesis import settings

from dev import CHROMIUM_NAMES
from stepscope.kernels.core import compiled
from tests.kernels import examples

ROOT = Path(__file__).resolve().parents[1]

FRAMEWORKS = {"framework_tf": "tensorflow", "framework_jax": "jax", "framework_torch": "torch"}

# Tier → what it needs beside the packages of the extra "test"; CONTRIBUTING.md gives their times.
TIERS: Final = {
    "quick": "no more than Python",
    "browser": "Chromium on PATH, and Node to build the pages",
    "frameworks": "TensorFlow and JAX, and PyTorch with STEPSCOPE_TORCH=1",
    "live": "the packages of the extra dev; it starts servers, builds and installs wheels",
    "collection": "the recordings outside the tree (tests/collection/README.md)",
}
# Tests read recordings anew, but those of the cache.
os.environ["STEPSCOPE_CACHE"] = "off"
# Uncompiled kernels take as long as they take; a slow machine is not a failing test.
settings.register_profile("stepscope", deadline=None, max_examples=examples(100))
settings.load_profile("stepscope")


@pytest.fixture(scope="session", autouse=True)
def _wide_and_tall_output() -> Iterator[None]:
    """Let commands print all of an answer; the tests of narrow and short screens say their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "1000")
        patch.setenv("LINES", "10000")
        yield


def pytest_report_header() -> list[str]:
    """Say what the results depend on."""
    kernels = "compiled" if compiled() else "NOT compiled (plain Python, slow)"
    found = [name for name in FRAMEWORKS.values() if find_spec(name)]
    return [f"kernels: {kernels}", f"frameworks: {', '.join(found) or 'none'}"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--tier``."""
    parser.addoption(
        "--tier",
        choices=[*TIERS, "all"],
        help="which tests to run; without it all that the paths name, or quick if none are named",
    )
    parser.addoption(
        "--measured",
        choices=["no", "only", "all"],
        default="all",
        help="whether to run the tests that measure a program and want no neighbours",
    )


# The tiers of which most files hold no test, and the marks that bring one there.
_MARK_OF = {"live": "mark.slow", "frameworks": "mark.framework_"}


@cache
def _has_none_of(tier: str, path: Path) -> bool:
    """Whether a file of tests has none of this tier, by its folder and its text."""
    folders = path.relative_to(ROOT).parts
    if tier not in _MARK_OF or "live" in folders or "e2e" in folders:
        return False
    return _MARK_OF[tier] not in path.read_text("utf-8")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files without a test of the tier: importing all takes half a minute."""
    if not collection_path.name.startswith("test_"):
        return None
    return _has_none_of(config.getoption("tier") or "", collection_path) or None


def tier_of(item: pytest.Item) -> str:
    """Return the tier a test belongs to, by its folder and its markers."""
    folders = item.path.relative_to(ROOT).parts
    if item.get_closest_marker("collection"):
        return "collection"
    if item.get_closest_marker("browser"):
        return "browser"
    if any(item.get_closest_marker(mark) for mark in FRAMEWORKS):
        return "frameworks"
    if "live" in folders or "e2e" in folders or item.get_closest_marker("slow"):
        return "live"
    return "quick"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of the tier; skip, saying why, what this machine cannot run."""
    for item in items:
        folders = item.path.relative_to(ROOT).parts
        if "e2e" in folders:
            item.add_marker("e2e")
        if "browser" in folders:
            item.add_marker("browser")
    named = config.args_source is not pytest.Config.ArgsSource.TESTPATHS
    tier = config.getoption("tier") or ("all" if named else "quick")
    measured = {"no": (False,), "only": (True,), "all": (False, True)}[config.getoption("measured")]
    kept: list[pytest.Item] = []
    dropped: list[pytest.Item] = []
    for item in items:
        is_measured = item.get_closest_marker("measured") is not None
        if is_measured and tier_of(item) != "frameworks":
            raise pytest.UsageError(f"{item.nodeid} measures: dev.py runs only frameworks alone")
        wanted = tier in (tier_of(item), "all") and is_measured in measured
        (kept if wanted else dropped).append(item)
    lost = {item.path for item in items if _has_none_of(tier_of(item), item.path)}
    assert not lost, f"Their marks are not written out, so their tiers leave them out: {lost}"
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = kept
    browser = next((name for name in CHROMIUM_NAMES if shutil.which(name)), None)
    for item in items:
        # Neighbours of the machine make real programs late: a fault fails three times.
        if item.get_closest_marker("timed") or tier_of(item) in ("live", "frameworks", "browser"):
            item.add_marker(pytest.mark.flaky(reruns=2))
        if browser is None and item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.skip(reason="no Chromium on PATH"))
        for mark, module in FRAMEWORKS.items():
            if item.get_closest_marker(mark) and find_spec(module) is None:
                item.add_marker(pytest.mark.skip(reason=f"{module} is not installed"))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say which tiers were left out, and how to run them."""
    if config.getoption("tier") != "quick" or hasattr(config, "workerinput"):
        return
    terminalreporter.section("left out: the slower tiers")
    for tier, needs in TIERS.items():
        if tier != "quick":
            terminalreporter.write_line(f"python3 dev.py test --tier {tier:<10}  needs {needs}")
    if terminalreporter.stats.get("skipped"):
        terminalreporter.write_line(
            "python3 dev.py test -rs              says why tests were skipped"
        )


@pytest.fixture(scope="session")
def real_profiles() -> Path:
    """The folder of real profiles beside the project; tests skip where it is absent."""
    folder = ROOT.parent / "shared" / "data" / "xplane"
    if not folder.is_dir():
        pytest.skip("the collection of real profiles (../shared/data) is not here")
    return folder
