"""Agents' questions: known answers within few calls and tokens, loud cuts, honest outcomes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import stepscope
from stepscope.errors import UsageError
from stepscope.redaction import Redaction
from stepscope.result import Advice, Finding
from stepscope.session import Session, open
from stepscope.surfaces.agent.guide import TOPICS, guide, skill
from stepscope.surfaces.agent.questions import QUESTIONS, question
from stepscope.surfaces.agent.questions.explain import which_there_are
from stepscope.surfaces.agent.recordings import Recordings
from stepscope.surfaces.agent.reply import AgentReply, cell, data, tokens_of
from stepscope.surfaces.cli.main import run
from tests.kernels import thinned
from tests.labelled import Labelled
from tests.labelled.synthetic import PROFILES
from tests.profiles import draw, event, nth, space, worked_example
from tests.profiles.ready import names_of_strangers

SAMPLE = Path(stepscope.__file__).parent / "surfaces/sample/slow_input_cnn.xplane.pb.gz"
MOST_CALLS, MOST_TOKENS = 3, 4000


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recordings]:
    root = tmp_path_factory.mktemp("logs")
    for name, steps in (("old", 20), ("new", 20)):
        path = root / name / "host.xplane.pb"
        path.parent.mkdir()
        path.write_bytes(worked_example(gpu=True, steps=steps))
    found = Recordings([str(root)])
    yield found
    found.close()


def ask(recordings: Recordings, name: str, **arguments: Any) -> AgentReply:
    return question(name).ask(recordings, arguments)


class Client:
    """A scripted client: it asks, and counts what that costs."""

    def __init__(self, recordings: Recordings) -> None:
        self.recordings, self.calls, self.tokens = recordings, 0, 0

    def ask(self, name: str, **arguments: Any) -> str:
        text = ask(self.recordings, name, **arguments).text(2000)
        self.calls += 1
        self.tokens += tokens_of(text)
        assert tokens_of(text) <= 2000
        return text


FAULTS = [one for one in PROFILES if one.expected is not None]


@pytest.mark.parametrize("fault", thinned(FAULTS), ids=lambda one: one.name)
def test_planted_faults_are_found_within_three_calls(fault: Labelled, tmp_path: Path) -> None:
    for host, data_ in fault.build().items():
        (tmp_path / f"{host}.xplane.pb").write_bytes(data_)
    client = Client(Recordings([str(tmp_path)]))
    wanted = [rule for rule in (fault.expected, *fault.also) if rule]
    summary = client.ask("summary")
    assert any(rule in summary for rule in wanted), summary
    match = re.search(r"^(finding:1@[0-9a-f]{4})\t", summary, re.MULTILINE)
    assert match is not None, summary
    told = client.ask("explain", handle=match[1])
    assert any(f"rule\t{rule}\n" in told for rule in wanted), told
    assert client.calls <= MOST_CALLS and client.tokens <= MOST_TOKENS


QUESTIONS_AND_ANSWERS: list[tuple[str, Mapping[str, Any], str]] = [
    ("recordings", {}, r"r1\t.*\nr2\t"),
    ("summary", {}, r"step_ms\t\d"),
    ("summary", {"recording": "r2"}, r"recording: r2"),
    ("summary", {}, r"files_used: host\.xplane\.pb"),
    ("advise", {}, r"data other_rules"),
    ("table", {"tool": "kernel_stats"}, r"kernel:1@[0-9a-f]{4}\t.*gemm"),
    ("table", {"tool": "framework_op_stats"}, r"op:1@[0-9a-f]{4}"),
    ("table", {"tool": "kernel_stats", "filter": "gemm"}, r"of 1, tab"),
    ("table", {"tool": "step_account"}, r"data "),
    ("table", {"tool": "input_pipeline_analyzer"}, r"outcome: (rows|unknown)"),
    ("table", {"tool": "memory_viewer"}, r"outcome: unknown"),
    ("timeline", {}, r"data tracks"),
    ("timeline", {"find": "gemm"}, r"event:\d+@"),
    ("timeline", {"from": "0ms", "to": "1ms"}, r"Range 0 to 1 ms"),
    ("explain", {"handle": "kernel:1"}, r"gemm"),
    ("explain", {"handle": "step:3"}, r"step_time_ms\t"),
    ("explain", {"handle": "event:1"}, r"duration_ms\t"),
    ("compare", {"before": "r1", "after": "r2"}, r"delta_ms\t0\n"),
    ("sql", {"query": "SELECT COUNT(*) AS n FROM steps"}, r"n\n20\n"),
    ("check", {"limits": {"step_time": "1ms"}}, r"status: "),
]


@pytest.mark.parametrize(("name", "arguments", "told"), QUESTIONS_AND_ANSWERS)
def test_twenty_questions(
    recordings: Recordings, name: str, arguments: Mapping[str, Any], told: str
) -> None:
    assert len(QUESTIONS_AND_ANSWERS) == 20
    client = Client(recordings)
    text = client.ask(name, **arguments)
    assert re.search(told, text), text
    assert client.calls <= MOST_CALLS and client.tokens <= MOST_TOKENS


def test_three_outcomes_are_told_apart(recordings: Recordings) -> None:
    assert ask(recordings, "timeline", find="gemm").outcome == "rows"
    assert ask(recordings, "timeline", find="no such kernel").outcome == "none"
    unknown = ask(recordings, "table", tool="memory_viewer")
    assert unknown.outcome == "unknown" and "how_to_record" in unknown.text()
    assert ask(recordings, "table", tool="nonsense").outcome == "error"


def test_page_terminal_and_agent_give_the_same_number(
    recordings: Recordings, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = recordings.entry("r1")
    with open(entry.root, run=entry.run.id) as session:
        kernels = session.kernel_stats().kernels
        expected = next(iter(kernels.rows()))
    text = ask(recordings, "explain", handle="kernel:1").text(0)
    told = dict(line.split("\t") for line in text.splitlines() if line.count("\t") == 1)
    for name, value in expected.items():
        assert told[name] == cell(value), name
    assert run(["show", "kernel_stats", entry.root, "--run", entry.run.id, "--format", "json"]) == 0
    body = json.loads(capsys.readouterr().out)
    assert body["kernels"][0] == expected
    assert body["files_used"] == ["host.xplane.pb"]


def test_a_steps_means_are_those_of_the_overview() -> None:
    """Of the sample's 20 steps 18 count: the first and the last were cut."""
    with open(SAMPLE) as session:
        overview = session.overview_page()
        number = int(overview.step_table["step_num"][5])
    assert overview.steps.count == 18 and len(overview.step_table) == 20
    expected = {f"{part}_ms": mean for part, mean in overview.breakdown_ms.items()}
    expected["step_time_ms"] = overview.steps.time_ms.mean
    text = ask(Recordings([str(SAMPLE)]), "explain", handle=f"step:{number}").text(0)
    parts, _, mark = text.partition("data mark")
    told = {row.split("\t")[1]: row.split("\t")[3] for row in parts.splitlines()[5:] if row}
    assert told == {name: cell(expected[name]) for name in told}
    assert {name for name, mean in expected.items() if mean} <= set(told)
    assert "host\tname\tstart_ms\tkept\n" in mark and mark.endswith("\tyes\n")


def test_each_hosts_step_is_held_against_the_means_of_that_host(tmp_path: Path) -> None:
    picture = """
      /host:CPU
        python   T---T---T---T---
      """
    for name, unit_us in (("fast", 25), ("slow", 75)):
        planes = draw(picture, unit_us=unit_us, T=event("train", step_num=nth, _r=1))
        (tmp_path / f"{name}.xplane.pb").write_bytes(space(*planes))
    text = ask(Recordings([str(tmp_path)]), "explain", handle="step:1").text(0)
    assert "fast\tstep_time_ms\t0.1\t0.1\n" in text
    assert "slow\tstep_time_ms\t0.3\t0.3\n" in text


def test_budgets_hold_and_cuts_are_loud(recordings: Recordings) -> None:
    reply = ask(recordings, "timeline", find="e")
    for budget in (200, 500, 1000, 5000):
        text = reply.text(budget)
        assert tokens_of(text) <= budget
        total = reply.tables[0].total
        shown = len(re.findall(r"^event:", text, re.MULTILINE))
        assert shown == total or f"CUT: {total - shown} of {total} rows" in text
    assert "CUT" not in reply.text(0)
    with pytest.raises(UsageError, match="max_tokens"):
        reply.text(50_000)


def test_a_cursor_goes_on_where_the_last_answer_ended(recordings: Recordings) -> None:
    query = "SELECT event FROM events ORDER BY event"
    whole = ask(recordings, "sql", query=query).text(0)
    rows = [line for line in whole.splitlines() if line.isdigit()]
    first = ask(recordings, "sql", query=query).text(120)
    match = re.search(r"cursor=(\d+)", first)
    assert match is not None
    rest = ask(recordings, "sql", query=query, cursor=int(match[1])).text(0)
    told = [line for text in (first, rest) for line in text.splitlines() if line.isdigit()]
    assert told == rows


def test_a_handle_of_another_recording_is_refused(recordings: Recordings) -> None:
    text = ask(recordings, "explain", handle="kernel:1@0000").text()
    assert "another recording" in text and "outcome: error" in text
    for wrong in ("kernel:99", "step:99999", "event:999999", "nonsense", "kernel:", "op:0"):
        assert ask(recordings, "explain", handle=wrong).outcome == "error", wrong


def test_a_finding_is_explained_with_every_word_that_advise_prints(
    recordings: Recordings, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = Finding(
        "slow",
        "high",
        None,
        0.9,
        "It is slow, and here is why. " * 30,
        actions=("Do this, and then that. " * 20,),
        assumption="it goes on " * 50,
        wrong_when="it rains all day " * 30,
        no_saving="it varies from day to day " * 20,
        code={"jax": "jax.jit(f, " + "static_argnames, " * 20},
    )
    long = replace(plain, saving_text="saves 3–6 ms (30–60 %)")
    monkeypatch.setattr(Session, "advice", lambda _: Advice((long,), ()))
    text = ask(recordings, "explain", handle="finding:1").text()
    said = (long.message, *long.actions, long.assumption, long.wrong_when, long.saving_text)
    for words in (*said, *long.code.values()):
        assert words.strip() in text
    assert "severity\thigh\n" in text and "…" not in text


@pytest.mark.parametrize(
    ("kind", "numbers", "says"),
    [
        ("finding", range(1, 1), "There are no findings."),
        ("finding", range(1, 2), "There is one finding: finding:1."),
        ("finding", range(1, 4), "There are 3 findings: finding:1 to finding:3."),
        ("step", [868], "There is one step: step:868."),
        ("op", range(1, 1201), "There are 1,200 ops: op:1 to op:1200."),
    ],
)
def test_a_handle_of_nothing_says_which_there_are(
    kind: str, numbers: Sequence[int], says: str
) -> None:
    assert which_there_are(kind, numbers) == says


def test_a_step_and_a_kernel_that_are_not_there_are_answered_with_those_that_are(
    recordings: Recordings,
) -> None:
    """The first handle and the last are questions that get an answer."""
    for kind in ("step", "kernel", "finding"):
        text = ask(recordings, "explain", handle=f"{kind}:99999").text(0)
        assert "no such" not in text
        handles = re.findall(rf"{kind}:\d+", text)
        assert handles and all(
            ask(recordings, "explain", handle=one).outcome == "rows" for one in handles
        )


def test_names_of_a_recording_stay_in_cells(tmp_path: Path) -> None:
    path = tmp_path / "host.xplane.pb"
    path.write_bytes(names_of_strangers(50))
    found = Recordings([str(path)])
    asked: list[tuple[str, dict[str, Any]]] = [
        ("summary", {}),
        ("advise", {}),
        ("table", {"tool": "framework_op_stats"}),
        ("table", {"tool": "host_activity"}),
        ("timeline", {}),
        ("timeline", {"find": "ignore"}),
        ("explain", {"handle": "op:1"}),
        ("explain", {"handle": "event:3"}),
        ("sql", {"query": "SELECT name FROM events"}),
    ]
    planted = 0
    for name, arguments in asked:
        in_data = False
        for line in ask(found, name, **arguments).text(0).splitlines():
            in_data = bool(line) and (in_data or line.startswith("data "))
            if "pwned" in line or "ignore previous" in line:
                planted += 1
                assert in_data and not line.startswith(("data ", "CUT:", "outcome:")), line
    assert planted > 20


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("two\nlines\tand tab", "two lines and tab"),
        ("\x1b[31mred\x07", "[31mred"),
        ("a\u202eb\u200bc\u2066d", "abcd"),
        ("x" * 500, "x" * 119 + "…"),
        (None, "-"),
        (float("nan"), "-"),
        (True, "yes"),
        (0.1234567, "0.123457"),
    ],
)
def test_a_cell_is_one_visible_line(value: Any, told: str) -> None:
    assert cell(value) == told


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM ReAd_CsV('/etc/passwd')",
        "SELECT * FROM (SELECT * FROM read_parquet('x'))",
        "SELECT 1; DROP TABLE events",
        "DROP TABLE events",
        "CREATE TABLE t AS SELECT * FROM scan_csv('x')",
        "",
    ],
)
def test_sql_reads_the_recording_and_nothing_else(recordings: Recordings, query: str) -> None:
    reply = ask(recordings, "sql", query=query)
    assert reply.outcome == "error", reply.text()


def test_redacted_recordings_tell_no_name(recordings: Recordings) -> None:
    root = recordings.entries[0].root
    private = Recordings([root], Redaction("names"))
    text = "".join(
        ask(private, name, **arguments).text(0)
        for name, arguments in (
            ("recordings", {}),
            ("summary", {}),
            ("explain", {"handle": "kernel:1"}),
            ("summary", {"recording": "no/such"}),
        )
    )
    assert root not in text and "old" not in text.split() and "host.xplane" not in text
    assert "host-1" in text


def test_arguments_are_checked(recordings: Recordings) -> None:
    for name, arguments in (
        ("summary", {"path": "/etc"}),
        ("table", {}),
        ("table", {"tool": 7}),
        ("sql", {"query": "SELECT 1", "cursor": True}),
        ("sql", {"query": "SELECT 1", "cursor": -1}),
        ("summary", {"max_tokens": 20_001}),
        ("summary", {"recording": "/etc/passwd"}),
    ):
        assert question(name).ask(recordings, arguments).outcome == "error", (name, arguments)
    with pytest.raises(UsageError, match="no such question"):
        question("delete")


def test_few_questions_with_short_schemas() -> None:
    assert len(QUESTIONS) <= 9
    all_ = [question(name) for name in QUESTIONS]
    listed = json.dumps([{"name": q.id, "about": q.about, "schema": q.schema} for q in all_])
    assert tokens_of(listed) <= 2500
    assert all(len(q.about.split()) <= 60 for q in all_)


def test_guide_names_every_question_and_tool() -> None:
    text = skill()
    assert text.startswith("---\nname: stepscope\n")
    for name in QUESTIONS:
        assert f"`{name}`" in text
    assert all(guide(topic) for topic in TOPICS)
    with pytest.raises(UsageError):
        guide("nonsense")


def test_commands_answer_within_a_budget(
    recordings: Recordings, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    root = recordings.entries[0].root
    assert run(["ask", "summary", root, "--max-tokens", "300"]) == 0
    assert tokens_of(capsys.readouterr().out) <= 300
    assert run(["explain", "kernel:1", root, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["outcome"] == "rows"
    assert run(["explain", "kernel:99", root]) == 2
    capsys.readouterr()
    assert run(["ask", "table", root, "tool=memory_viewer"]) == 3
    capsys.readouterr()
    csv = ["show", "framework_op_stats", root, "--format", "csv"]
    assert run([*csv, "--max-tokens", "110"]) == 0
    found = capsys.readouterr()
    assert tokens_of(found.out) <= 110 and "CUT: tables show" in found.err
    assert run(["guide", "--skill", str(tmp_path)]) == 0
    assert (tmp_path / "stepscope" / "SKILL.md").read_text("utf-8") == skill()


def test_a_table_is_cut_before_the_one_above_it() -> None:
    reply = AgentReply(
        "rows",
        tables=(
            data("first", ("a",), [("x" * 20,)] * 20),
            data("second", ("b",), [("y" * 20,)] * 20),
        ),
    )
    text = reply.text(tokens_of(reply.text(0)) - 30)
    assert text.count("x" * 20) == 20 and text.count("y" * 20) < 20
