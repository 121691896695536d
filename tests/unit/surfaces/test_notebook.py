"""Notebooks: answers drawn by a real IPython shell, the pages behind an address that is the key."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote_plus
from urllib.request import Request, urlopen

import pytest

import stepscope
from stepscope.analysis import TOOLS
from stepscope.errors import StoreError, UsageError
from stepscope.result import Result
from stepscope.session import workspace
from stepscope.session.workspace import Workspace
from stepscope.surfaces.cli.pages.page import Page
from stepscope.surfaces.http import Server, Settings
from stepscope.surfaces.notebook import cells, frame
from tests.profiles import HOSTILE_NAMES, hostile_names, worked_example


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "h.xplane.pb").write_bytes(worked_example(gpu=True))
    return tmp_path


@pytest.fixture(autouse=True)
def servers() -> Iterator[None]:
    """Those that a test has started end with it."""
    yield
    for server in frame._servers.values():
        server.close()
    frame._servers.clear()


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> Any:
    shells = pytest.importorskip("IPython.core.interactiveshell", reason="no IPython")
    made = shells.InteractiveShell()
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: made)
    cells.register()
    return made


def drawn(shell: Any, value: object) -> dict[str, str]:
    found: dict[str, str] = shell.display_formatter.format(value)[0]
    return found


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def read(html: str) -> _Words:
    words = _Words()
    words.feed(html)
    return words


def test_an_answer_is_drawn_as_the_terminal_shows_it(shell: Any, folder: Path) -> None:
    with stepscope.open(folder) as session:
        overview = session.overview_page()
    both = drawn(shell, overview)
    words = read(both["text/html"])
    assert overview.headline in " ".join(words.text.split())
    assert overview.headline.split()[:8] == both["text/plain"].split("\n")[2].split()[:8]
    assert words.tags == {"pre", "span"}
    assert "OverviewPage(" not in both["text/plain"]  # as its dataclass would print it
    page = Page(cells._COLUMNS, more=cells._MORE)
    cells._write_result(page, overview)
    assert words.text == "\n".join("".join(text for text, _ in line) for line in page.lines)


def test_load_ext_draws_answers_and_adds_the_magic(shell: Any, folder: Path) -> None:
    shell.run_line_magic("load_ext", "stepscope")
    found = shell.run_line_magic("stepscope", f"'{folder}' trace_viewer")
    assert isinstance(found, frame.Frame)
    assert "trace_viewer" in found.url
    assert isinstance(shell.run_line_magic("stepscope", str(folder)), frame.Frame)


def test_every_kind_of_answer_is_drawn(shell: Any, folder: Path) -> None:
    with stepscope.open(folder) as session:
        ops = session.framework_op_stats().ops
        answers = (
            session.kernel_stats(),
            ops,
            session.advice(),
            stepscope.compare(folder, session),
        )
    for answer in answers:
        assert "<pre" in drawn(shell, answer)["text/html"]
        assert f"{type(answer).__name__}(" not in drawn(shell, answer)["text/plain"]
    assert "no rows" in drawn(shell, ops.head(0))["text/plain"]


def test_every_tool_has_a_result_that_is_drawn_by_its_name() -> None:
    by_name = {(home, name) for home, name, _ in cells._results()}
    for tool in TOOLS.ids:
        (result,) = (
            found
            for found in vars(import_module(f"stepscope.analysis.{tool}")).values()
            if isinstance(found, type) and issubclass(found, Result) and found is not Result
        )
        assert (result.__module__, result.__qualname__) in by_name


def test_a_program_that_ends_while_a_recording_is_opened_prints_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    said: list[str] = []

    def ending(self: Workspace) -> None:
        raise RuntimeError(said[-1])

    monkeypatch.setattr(Workspace, "load", ending)
    for message, is_logged in (
        ("cannot schedule new futures after interpreter shutdown", False),
        ("can't create new thread at interpreter shutdown", False),
        ("a fault of ours", True),
    ):
        said.append(message)
        caplog.clear()
        with Server(str(folder), Settings(port=0)) as server:
            server._warm()
        assert bool(caplog.records) is is_logged


def test_a_long_table_says_how_to_get_the_rest(shell: Any, tmp_path: Path) -> None:
    (tmp_path / "h.xplane.pb").write_bytes(worked_example(gpu=True, steps=40))
    with stepscope.open(tmp_path) as session:
        steps = session.overview_page().step_table
    text = drawn(shell, steps)["text/plain"]
    assert f"{len(steps) - cells._ROWS:,} more rows" in text and "to_polars()" in text


def test_names_from_a_recording_are_text(shell: Any, tmp_path: Path) -> None:
    (tmp_path / "h.xplane.pb").write_bytes(hostile_names())
    with stepscope.open(tmp_path) as session:
        words = read(drawn(shell, session.framework_op_stats())["text/html"])
    assert words.tags == {"pre", "span"}
    assert any(name[:12] in words.text for name in HOSTILE_NAMES)


def test_without_a_shell_nothing_happens() -> None:
    code = (
        "import sys, stepscope; stepscope.open; "
        "print([name for name in ('IPython', 'stepscope.surfaces') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_first_name_asked_for_registers_what_is_drawn() -> None:
    pytest.importorskip("IPython", reason="no IPython")
    code = (
        "from IPython.core.interactiveshell import InteractiveShell as S; s = S.instance(); "
        "import sys, stepscope; stepscope.Table; "
        "html = s.display_formatter.formatters['text/html']; "
        "print([kind for kind in html.deferred_printers if kind[0] == 'stepscope.result'], "
        "'polars' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "'Result'" in done.stdout and done.stdout.strip().endswith("False")


def ask(url: str, **headers: str) -> tuple[int, str, dict[str, str]]:
    try:
        with urlopen(Request(url, headers=headers), timeout=60) as answer:
            return answer.status, answer.read().decode(), dict(answer.headers)
    except HTTPError as error:
        return error.code, error.read().decode(), dict(error.headers)


def test_the_address_is_the_key(folder: Path) -> None:
    shown = stepscope.show(folder, "kernel_stats")
    assert shown.url.endswith("#/kernel_stats")
    key = shown.url.split("#")[0]
    status, body, headers = ask(f"{key}api/v1/session")
    assert status == 200 and '"runs"' in body
    assert "frame-ancestors" not in headers["Content-Security-Policy"]
    origin = re.match(r"http://[^/]+", key)
    assert origin
    for guess in ("/", "/x/", f"/{'A' * 32}/"):
        status, body, _ = ask(f"{origin[0]}{guess}api/v1/session")
        assert status in (401, 404) and "runs" not in body
    status, _, _ = ask(f"{key}api/v1/session", **{"Sec-Fetch-Site": "cross-site"})
    assert status == 403
    assert "capture-not-allowed" in ask(f"{key}api/v1/capture")[1]


def test_a_place_is_served_once_and_new_runs_appear(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workspace, "_PATIENCE_SECONDS", 60)
    first, again = stepscope.show(folder), stepscope.show(str(folder) + "/")
    assert first.port == again.port
    (folder / "later").mkdir()
    (folder / "later" / "h.xplane.pb").write_bytes(worked_example(gpu=False))
    assert ask(first.url.split("#")[0] + "api/v1/session")[1].count('"id":') == 2


def test_an_open_session_is_not_read_again(folder: Path) -> None:
    with stepscope.open(folder) as session:
        profile = session.profile
        shown = stepscope.show(session)
        assert f"run={session.name}" in shown.url
        (server,) = frame._servers.values()
        assert server.workspace.load(session.name).profile.hosts[0] is profile.hosts[0]
        stepscope.show(session)
        assert server.workspace.load(session.name) is server.workspace.session(session.name)


def test_what_is_shown_is_what_was_opened(tmp_path: Path) -> None:
    """The run by the end of its name, as ``open`` takes it, and the host of a session of one."""
    for run in ("first/plugins/profile/a", "second/plugins/profile/b"):
        (tmp_path / run).mkdir(parents=True)
        for host in ("x", "y"):
            path = tmp_path / run / f"{host}.xplane.pb"
            path.write_bytes(worked_example(gpu=True))
    with stepscope.open(tmp_path, run="a", host="y") as session:
        assert session.name != "a"
        run = quote_plus(session.name)
        assert stepscope.show(tmp_path, run="a").url.endswith(f"?run={run}")
        assert stepscope.show(session).url.endswith(f"?run={run}&host=y")
        assert "host" not in stepscope.show(session, run="b").url
    with pytest.raises(UsageError, match="no run 'c'"):
        stepscope.show(tmp_path, run="c")
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "x.xplane.pb").write_bytes(worked_example(gpu=True))
    assert stepscope.show(tmp_path, run="c").url.endswith("?run=c")


def test_nothing_to_show_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        stepscope.show(tmp_path / "nothing")


def test_hubs_and_proxies_are_asked_through(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTERHUB_SERVICE_PREFIX", "/user/me/")
    hub = stepscope.show(folder)
    assert hub.url.startswith(f"/user/me/proxy/{hub.port}/")
    named = stepscope.show(folder, proxy="https://gate.example/p{port}/")
    assert named.url.startswith(f"https://gate.example/p{hub.port}/")
    assert '<iframe src="https://gate.example/' in named._repr_html_()


def test_in_colab_the_port_is_asked_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.colab", sys)
    shown = stepscope.show(folder)
    html = shown._repr_html_()
    assert f"proxyPort({shown.port})" in html and "127.0.0.1" not in html
    assert shown.url.split("/", 3)[3].split("#")[0] in html
