"""Everything that Stepscope answers about one file: pages, tables, exports, advice, frames.

Whatever the bytes are, each answer must be an answer or an error that says what is wrong; never an
exception, never a torn body.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from werkzeug.test import Client

from stepscope.analysis import TOOLS
from stepscope.errors import StepscopeError
from stepscope.session import Session, open
from stepscope.session.workspace import Workspace
from stepscope.store import Found, find
from stepscope.surfaces import export
from stepscope.surfaces.cli.pages.page import Page
from stepscope.surfaces.cli.pages.result import write_result
from stepscope.surfaces.http import Application, Settings
from stepscope.surfaces.http.security import Guard

_BUG = 500
_VIEWS = ("", "&start_ps=0&end_ps=1000000000", "&start_ps=-1000&end_ps=4000000000000000000")
_TIMELINE = (
    "meta",
    "names?page=0",
    "event?id=0",
    "event?id=3",
    "flows",
    "flows?id=0",
    *(f"{part}{view}" for view in _VIEWS for part in ("tile?x=", "range?x=", "density?columns=64")),
    "tile?format=json",
    "search?q=a",
    "search?q=.*&mode=regex",
    "search?q=1&stat=step_num",
    "export?format=chrome",
    "export?format=perfetto",
    "export?format=xspace",
)


def failures(path: Path, *, only: str = "") -> list[str]:
    """What failed of all that can be asked about a file; empty if nothing did.

    Args:
        path: The file, or a folder with recordings.
        only: Only answers whose name contains this text.
    """
    try:
        found = find(path)
    except StepscopeError:
        return []
    wrong = []
    for name, ask in (*_pages(found), *_calls(path)):
        if only in name:
            wrong += [f"{name}: {problem}" for problem in _tried(ask)]
    return wrong


def failures_of(path: Path, tools: Iterable[str]) -> list[str]:
    """What failed of some tools' answers about a file; empty if nothing did.

    That a file is not opened is an answer as well: an empty one says so.
    """
    try:
        session = open(path)
    except StepscopeError:
        return []
    with session:
        return [
            f"show {tool}: {problem}"
            for tool in tools
            for problem in _tried(partial(_shown, session, tool))
        ]


def _tried(ask: Callable[[], list[str]]) -> list[str]:
    try:
        return ask()
    except StepscopeError as error:
        json.dumps(error.to_dict(), ensure_ascii=False).encode()
        return []
    except Exception as error:
        return [_where(error)]


def _where(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    code = trace.tb_frame.f_code if trace is not None else None
    place = f"{Path(code.co_filename).name}:{trace.tb_lineno}" if code and trace else "?"
    return f"{type(error).__name__} at {place}: {error!s:.200}"


# ---------------------------------------------------------------------------- pages


class _Heard(logging.Handler):
    """Keeps the exceptions that the application logs instead of raising."""

    def __init__(self) -> None:
        super().__init__()
        self.wrong: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1]:
            self.wrong.append(_where(record.exc_info[1]))


def _pages(found: Found) -> Iterator[tuple[str, Callable[[], list[str]]]]:
    settings = Settings(token_required=False)
    client = Client(Application(Workspace(found), Guard(settings, 1), Path("/nonexistent")))
    for url in _urls():
        yield f"GET {url}", partial(_page, client, url)


def _urls() -> Iterator[str]:
    yield from ("session", "tools", "progress", "advice")
    for tool in TOOLS:
        yield f"tool/{tool.id}"
        yield f"tool/{tool.id}?layout=columns&top=3"
    yield "tool/framework_op_stats/ops.csv"
    yield "tool/kernel_stats/kernels.json"
    yield "tool/host_activity/threads.parquet"
    yield from (f"timeline/{part}" for part in _TIMELINE)


def _page(client: Client, url: str) -> list[str]:
    heard = _Heard()
    log = logging.getLogger("stepscope")
    log.addHandler(heard)
    log.propagate = False
    try:
        response = client.get(f"/api/v1/{url}", headers={"Host": "localhost"})
        body = response.get_data()
    finally:
        log.removeHandler(heard)
    if response.mimetype == "application/json" and response.status_code != 304:
        json.loads(body)
    if response.status_code >= _BUG and not heard.wrong:
        return [f"{response.status_code}: {body[:200]!r}"]
    return heard.wrong


# ---------------------------------------------------------------------------- Python


def _calls(path: Path) -> Iterator[tuple[str, Callable[[], list[str]]]]:
    with open(path) as session:
        for tool in TOOLS:
            yield f"show {tool.id}", partial(_shown, session, tool.id)
        calls: dict[str, Callable[[Session], Any]] = {
            "session.ops": lambda session: session.ops,
            "session.steps": lambda session: session.steps,
            "session.events()": lambda session: session.events(),
            "session.sql": lambda session: session.sql(
                "select name, sum(duration_ps) from events where name like '%a%' group by name"
            ),
        }
        for name, call in calls.items():
            yield name, partial(_done, call, session)


def _done(call: Callable[[Session], Any], session: Session) -> list[str]:
    call(session)
    return []


def _shown(session: Session, tool: str) -> list[str]:
    result = session.run(tool)
    page = Page(100)
    write_result(page, result, tool, 20)
    _ = [text.encode() for line in page.lines for text, _style in line]
    export.markdown_text(result, tool, 5).encode()
    export.json_text(result, 5).encode()
    for name, table in result.tables().items():
        export.csv_text(table, 5).encode()
        export.parquet_bytes(table, 5)
        assert len(table.to_polars()) == len(table), name
    return []
