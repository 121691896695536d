"""The protocol in both eras, by raw messages and by the official SDK's client."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from stepscope.redaction import Redaction
from stepscope.sql.database import ProfileDatabase
from stepscope.surfaces.agent.guide import TOPICS
from stepscope.surfaces.agent.questions import QUESTIONS
from stepscope.surfaces.agent.recordings import Recordings
from stepscope.surfaces.agent.reply import MOST_TOKENS, tokens_of
from stepscope.surfaces.cli.main import run
from stepscope.surfaces.mcp.server import McpServer
from tests.profiles import worked_example

MODERN = {
    "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logs")
    (folder / "host.xplane.pb").write_bytes(worked_example(gpu=True, steps=12))
    return folder


@pytest.fixture(scope="module")
def server(root: Path) -> Iterator[McpServer]:
    recordings = Recordings([str(root)])
    yield McpServer(recordings)
    recordings.close()


def send(server: McpServer, method: str, params: Any = None, identity: Any = 1) -> dict[str, Any]:
    request = {"jsonrpc": "2.0", "id": identity, "method": method, "params": params or {}}
    told = server.message(json.dumps(request).encode())
    assert told is not None and told["jsonrpc"] == "2.0" and told["id"] == identity
    return told


def call(server: McpServer, name: str, **arguments: Any) -> dict[str, Any]:
    params = {**MODERN, "name": name, "arguments": arguments}
    result: dict[str, Any] = send(server, "tools/call", params)["result"]
    return result


def test_the_older_era_shakes_hands(server: McpServer) -> None:
    for asked, told in (("2025-06-18", "2025-06-18"), ("2026-07-28", "2025-11-25"), ("1", None)):
        result = send(server, "initialize", {"protocolVersion": asked, "capabilities": {}})
        assert result["result"]["protocolVersion"] == (told or "2025-11-25")
        assert result["result"]["serverInfo"]["name"] == "stepscope"
    assert server.message(b'{"jsonrpc":"2.0","method":"notifications/initialized"}') is None
    assert len(send(server, "tools/list")["result"]["tools"]) == len(QUESTIONS)
    assert send(server, "ping")["result"] == {}


def test_the_newer_era_discovers(server: McpServer) -> None:
    result = send(server, "server/discover", MODERN)["result"]
    assert result["supportedVersions"] == ["2026-07-28"]
    assert result["resultType"] == "complete"
    for method in ("tools/list", "prompts/list", "resources/list"):
        listed = send(server, method, MODERN)["result"]
        assert listed["resultType"] == "complete"
        assert listed["ttlMs"] > 0 and listed["cacheScope"] == "public"


def test_a_version_that_is_not_spoken_is_refused(server: McpServer) -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": "2031-01-01"}
    error = send(server, "tools/list", {"_meta": meta})["error"]
    assert error["code"] == -32022 and "2026-07-28" in error["data"]["supported"]


def test_tools_are_few_read_only_and_short(server: McpServer) -> None:
    tools = send(server, "tools/list", MODERN)["result"]["tools"]
    assert [tool["name"] for tool in tools] == list(QUESTIONS)
    assert len(tools) <= 9
    assert all(tool["annotations"]["readOnlyHint"] for tool in tools)
    assert tokens_of(json.dumps(tools)) <= 2500


def test_a_failure_is_a_result_that_the_model_reads(server: McpServer) -> None:
    result = call(server, "explain", handle="kernel:99")
    assert result["isError"] and "outcome: error" in result["content"][0]["text"]
    assert not call(server, "summary")["isError"]
    unknown = call(server, "table", tool="memory_viewer")
    assert not unknown["isError"] and unknown["structuredContent"]["outcome"] == "unknown"
    assert unknown["structuredContent"]["files_used"] == ["host.xplane.pb"]


def test_budgets_are_kept(server: McpServer) -> None:
    text = call(server, "timeline", find="e", max_tokens=150)["content"][0]["text"]
    assert tokens_of(text) <= 150 and "CUT:" in text


def test_zero_tokens_are_no_budget(tmp_path: Path) -> None:
    """5,000 rows of 20 bytes are more than the 20,000 tokens that a budget may have."""
    (tmp_path / "host.xplane.pb").write_bytes(worked_example(steps=2000))
    with closing(Recordings([str(tmp_path)])) as recordings:
        query = "SELECT event, name, start_us, host FROM events LIMIT 5000"
        result = call(McpServer(recordings), "sql", query=query, max_tokens=0)
        text = result["content"][0]["text"]
    assert "CUT:" not in text and tokens_of(text) > MOST_TOKENS


@pytest.mark.parametrize("asked", [-5, MOST_TOKENS + 1, 10**6])
def test_a_budget_that_the_schema_does_not_take_is_refused(server: McpServer, asked: int) -> None:
    result = call(server, "summary", max_tokens=asked)
    assert result["isError"]
    assert re.search("max_tokens cannot be (less|more) than", result["content"][0]["text"])


def test_prompts_and_resources(server: McpServer) -> None:
    assert send(server, "prompts/get", {"name": "diagnose"})["result"]["messages"]
    listed = send(server, "resources/list")["result"]["resources"]
    assert len(listed) == len(TOPICS)
    for one in listed:
        read = send(server, "resources/read", {"uri": one["uri"]})["result"]["contents"][0]
        assert read["text"].strip()
    for uri in ("file:///etc/passwd", "stepscope://guide/../x"):
        assert send(server, "resources/read", {"uri": uri})["error"]["code"] == -32602


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"nonsense", -32700),
        (b"[" * 100_000, -32700),
        (b"[]", -32600),
        (b'{"jsonrpc":"2.0","id":1}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","params":[1]}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"x"}', -32601),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rm"}}', -32602),
        (b" " * ((1 << 20) + 1), -32600),
    ],
)
def test_nonsense_is_refused(server: McpServer, line: bytes, code: int) -> None:
    told = server.message(line)
    assert told is not None and told["error"]["code"] == code


def test_paths_outside_of_the_roots_are_never_opened_or_told(server: McpServer, root: Path) -> None:
    for wanted in ("/etc/passwd", str(root.parent), "../..", "file:///etc"):
        result = call(server, "summary", recording=wanted)
        assert result["isError"] and str(root) not in json.dumps(result)


def test_standard_output_carries_messages_and_nothing_else(root: Path) -> None:
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "recordings"}},
    ]
    out = io.BytesIO()
    text = "\n".join(map(json.dumps, lines)) + "\n\n"
    McpServer(Recordings([str(root)])).serve(io.BytesIO(text.encode()), out)
    told = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [one["id"] for one in told] == [1, 2]


def test_redaction_holds(root: Path) -> None:
    server = McpServer(Recordings([str(root)], Redaction("names")))
    told = json.dumps([call(server, "recordings"), call(server, "summary")])
    assert "host.xplane" not in told and str(root) not in told


def test_urls_need_leave(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["mcp", "gs://bucket/logs"]) == 2
    assert "--allow-remote" in capsys.readouterr().err


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28", "auto"])
def test_the_official_client_agrees_in_both_eras(root: Path, mode: str) -> None:
    mcp = pytest.importorskip("mcp", reason="the official SDK is not installed")
    from mcp.client.stdio import StdioServerParameters, stdio_client

    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "stepscope", "mcp", str(root)],
        env={**os.environ},
    )

    async def talk() -> tuple[list[str], str, bool]:
        async with mcp.Client(stdio_client(parameters), mode=mode) as client:
            listed = await client.list_tools()
            told = await client.call_tool("summary", {})
            wrong = await client.call_tool("explain", {"handle": "op:999"})
            await client.list_prompts()
            await client.list_resources()
            return [tool.name for tool in listed.tools], told.content[0].text, wrong.is_error

    # On a thread of its own: browser tests leave an event loop running on this one.
    with ThreadPoolExecutor(1) as pool:
        names, text, failed = pool.submit(lambda: asyncio.run(talk())).result()
    assert names == list(QUESTIONS)
    assert text.startswith("outcome: rows") and failed


def test_a_cancelled_request_ends_unanswered(root: Path) -> None:
    recordings = Recordings([str(root)])
    server = McpServer(recordings)
    begun = threading.Event()

    def endless(_: Any) -> dict[str, Any]:
        begun.set()
        time.sleep(120)
        return {}

    server._methods["endless"] = endless
    source, target = os.pipe()
    out = io.BytesIO()

    def client() -> None:
        with os.fdopen(target, "wb", buffering=0) as to:
            to.write(b'{"jsonrpc":"2.0","id":7,"method":"endless"}\n')
            begun.wait(60)
            time.sleep(0.2)
            to.write(
                b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}\n'
            )
            to.write(b'{"jsonrpc":"2.0","id":8,"method":"ping"}\n')

    thread = threading.Thread(target=client)
    thread.start()
    with os.fdopen(source, "rb") as lines:
        server.serve(lines, out)
    thread.join()
    recordings.close()
    assert [json.loads(line)["id"] for line in out.getvalue().splitlines()] == [8]


def test_the_process_of_a_cancelled_query_ends(root: Path) -> None:
    recordings = Recordings([str(root)])
    server = McpServer(recordings)
    endless = f"SELECT count(*) FROM {', '.join(f'events e{number}' for number in range(9))}"
    asked = {"name": "sql", "arguments": {"query": endless}}
    source, target = os.pipe()
    out = io.BytesIO()

    def running() -> list[ProfileDatabase]:
        return [one for one in list(ProfileDatabase._all) if one._process is not None]

    known = set(map(id, running()))

    def client() -> None:
        with os.fdopen(target, "wb", buffering=0) as to:
            request = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": asked}
            to.write(json.dumps(request).encode() + b"\n")
            until = time.monotonic() + 60
            while time.monotonic() < until and {*map(id, running())} <= known:
                time.sleep(0.05)
            time.sleep(0.5)
            cancelled = {"method": "notifications/cancelled", "params": {"requestId": 7}}
            to.write(json.dumps({"jsonrpc": "2.0", **cancelled}).encode() + b"\n")
            to.write(b'{"jsonrpc":"2.0","id":8,"method":"ping"}\n')

    thread = threading.Thread(target=client)
    thread.start()
    with os.fdopen(source, "rb") as lines:
        server.serve(lines, out)
    thread.join()
    assert [json.loads(line)["id"] for line in out.getvalue().splitlines()] == [8]
    assert {*map(id, running())} <= known
    # The place is free again: a small query is answered.
    assert (
        "n" in call(server, "sql", query="SELECT count(*) AS n FROM events")["content"][0]["text"]
    )
    recordings.close()


def test_half_a_character_is_no_request(server: McpServer) -> None:
    request = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\\ud800"}}'
    told = server.message(request)
    assert told is not None and told["error"]["code"] == -32700
