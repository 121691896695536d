"""A pytest plugin that fails a test whose steps are too slow.

    @pytest.mark.stepscope(max_step_time="+5%", baseline="baselines/train")
    def test_training_is_as_fast_as_it_was():
        for i in range(20):
            with stepscope.step(i):
                train_step()

The test's call is recorded and held against the limits of ``stepscope check``. pytest loads this
in every environment that has Stepscope, so nothing but the standard library is imported before a
marked test runs.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from stepscope.quantities import time_change

if TYPE_CHECKING:
    from stepscope.comparison.gate import GateReport

_MARK: Final = "stepscope"
# Arguments of the mark that are limits, and what they are on; ``limits`` takes any other.
_LIMITS: Final = {
    "max_step_time": "step_time",
    "max_peak_memory": "peak_memory",
    "max_input": "input",
    "max_idle": "idle",
}
_OTHERS: Final = ("baseline", "limits", "options", "on_unknown")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Flags of the plugin."""
    group = parser.getgroup("stepscope", "recording and judging marked tests")
    group.addoption(
        "--stepscope-logdir",
        metavar="DIR",
        help="keep the recordings of marked tests here, e.g. for `stepscope serve DIR`",
    )
    group.addoption(
        "--stepscope-update",
        action="store_true",
        help="write the recordings of marked tests as their new baselines instead of judging them",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Tell pytest of the mark."""
    config.addinivalue_line(
        "markers",
        "stepscope(max_step_time=, max_peak_memory=, max_input=, max_idle=, limits=, baseline=, "
        "options=, on_unknown='fail'): record the test and fail it when its steps exceed a limit "
        "(docs/compare.md).",
    )


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, None]:
    """Record the call of a marked test, then judge it."""
    mark = item.get_closest_marker(_MARK)
    if mark is None:
        yield
        return
    arguments = _arguments(mark)
    logdir = _logdir(item)
    from stepscope.capture.control import Profile

    with Profile(logdir, arguments.get("options")) as profile:
        outcome = yield
    if outcome.excinfo is not None or profile.capture is None:
        return
    try:
        _judge(item, profile.capture.path, arguments)
    except BaseException as error:  # pytest.fail raises something that is not an Exception
        outcome.force_exception(error)


def _arguments(mark: pytest.Mark) -> Mapping[str, Any]:
    known = (*_LIMITS, *_OTHERS)
    if mark.kwargs.get("on_unknown", "fail") not in ("fail", "pass"):
        pytest.fail("@pytest.mark.stepscope: on_unknown is 'fail' or 'pass'.", pytrace=False)
    unknown = [name for name in mark.kwargs if name not in known]
    if mark.args or unknown:
        said = ", ".join([*map(repr, mark.args), *unknown])
        pytest.fail(
            f"@pytest.mark.stepscope: {said} is not one of {', '.join(known)}.", pytrace=False
        )
    return mark.kwargs


def _logdir(item: pytest.Item) -> Path:
    """Where the test's recording goes: below the folder that was asked for, else a passing one."""
    name = "".join(c if c.isalnum() or c in "._-" else "_" for c in item.nodeid)[-150:]
    kept = item.config.getoption("--stepscope-logdir")
    if kept:
        return Path(kept) / name
    factory: pytest.TempPathFactory = item.config._tmp_path_factory  # type: ignore[attr-defined]  # what the tmp_path fixture uses
    return factory.mktemp("stepscope")


def _judge(item: pytest.Item, recording: str, arguments: Mapping[str, Any]) -> None:
    from stepscope.errors import StepscopeError
    from stepscope.session.compare import check

    baseline = arguments.get("baseline")
    folder = item.config.rootpath / baseline if baseline else None
    if folder is not None and item.config.getoption("--stepscope-update"):
        _keep(Path(recording), folder)
        return
    limits = {metric: arguments[name] for name, metric in _LIMITS.items() if arguments.get(name)}
    limits |= arguments.get("limits") or {}
    if not limits and folder is not None:
        limits = {"step_time": "+5%"}
    if folder is not None and not folder.exists():
        pytest.fail(
            f"There is no baseline at {folder}. Write it once on the machine that judges:\n"
            f"    pytest --stepscope-update {shlex.quote(item.nodeid)}",
            pytrace=False,
        )
    problem, result = "", None
    try:
        result = check(recording, limits, baseline=folder)
    except StepscopeError as error:
        problem = str(error)
    if result is None:
        pytest.fail(f"Stepscope cannot judge this test.\n{problem}", pytrace=False)
    _report(item, result, passes_unknown=arguments.get("on_unknown", "fail") == "pass")


def _keep(recording: Path, folder: Path) -> None:
    """Make a recording the baseline: the folder holds it alone."""
    if folder.is_dir():
        for old in folder.glob("*.xplane.pb*"):
            old.unlink()
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(recording, folder / recording.name)


def _report(item: pytest.Item, result: GateReport, *, passes_unknown: bool) -> None:
    """Add the numbers to pytest's reports; fail the test if a limit is not kept."""
    from stepscope.surfaces.format import clean

    lines = []
    for row in result.limits.rows():
        item.user_properties.append((f"stepscope {row['metric']}", row["measured"]))
        lines.append(
            f"{row['status']}: {row['metric']} {row['measured']} (limit {row['limit']}, "
            f"baseline {row['baseline']}) {row['message']}".rstrip()
        )
    lines += [result.headline] if result.headline else []
    lines += [f"not equal: {one}" for one in result.differences]
    blame = [
        f"  {time_change(row['delta_ms'])} {row['name']} ({row['kind']})"
        for row in result.guilty.rows()
    ]
    lines += ["What grew most:", *blame] if blame else []
    # They hold names of ops, and a terminal obeys what those may hold.
    text = "\n".join(map(clean, lines))
    item.add_report_section("call", "stepscope", text)
    if result.status == "unknown" and passes_unknown:
        return
    if result.status != "kept":
        pytest.fail(f"Stepscope: a limit is {result.status}.\n{text}", pytrace=False)
