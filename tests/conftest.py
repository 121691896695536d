"""What all tests share: where real profiles are, and which tests cannot run on this machine."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

from stepscope.kernels.core import compiled

ROOT = Path(__file__).resolve().parents[1]

FRAMEWORKS = {"framework_tf": "tensorflow", "framework_jax": "jax", "framework_torch": "torch"}
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

# Uncompiled kernels take as long as they take; a slow machine is not a failing test.
settings.register_profile("stepscope", deadline=None)
settings.load_profile("stepscope")


def pytest_report_header() -> list[str]:
    """Say what the results depend on."""
    kernels = "compiled" if compiled() else "NOT compiled (plain Python, slow)"
    found = [name for name in FRAMEWORKS.values() if find_spec(name)]
    return [f"kernels: {kernels}", f"frameworks: {', '.join(found) or 'none'}"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by their folder; skip, saying why, what this machine cannot run."""
    browser = next((name for name in BROWSERS if shutil.which(name)), None)
    for item in items:
        folders = item.path.relative_to(ROOT).parts
        if "e2e" in folders:
            item.add_marker("e2e")
        if "browser" in folders:
            item.add_marker("browser")
        if browser is None and item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.skip(reason="no Chromium on PATH"))
        for mark, module in FRAMEWORKS.items():
            if item.get_closest_marker(mark) and find_spec(module) is None:
                item.add_marker(pytest.mark.skip(reason=f"{module} is not installed"))


@pytest.fixture(scope="session")
def real_profiles() -> Path:
    """The folder of real profiles beside the project; tests skip where it is absent."""
    folder = ROOT.parent / "shared" / "data" / "xplane"
    if not folder.is_dir():
        pytest.skip("the collection of real profiles (../shared/data) is not here")
    return folder
