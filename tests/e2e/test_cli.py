"""The command line as a person and a script meet it: whole processes, exit codes, streams."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from bench.step_ranks import write_job
from tests.profiles import HOSTILE_NAMES, hostile_names, no_events, worked_example
from tests.profiles.model import Event, host, line, space

pytestmark = pytest.mark.e2e

SHARED = Path(__file__).parents[3] / "shared"


def stepscope(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "stepscope", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | environment,
        check=False,
    )


def answer(*arguments: str | Path) -> Any:
    done = stepscope(*arguments, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("logs")
    for run, data in (
        ("2024_01_01_00_00_00", worked_example(gpu=False)),
        ("2024_01_02_00_00_00", worked_example(gpu=True)),
    ):
        folder = root / "plugins" / "profile" / run
        folder.mkdir(parents=True)
        (folder / "vm.xplane.pb").write_bytes(data)
    (root / "events.out.tfevents.1.vm").write_bytes(b"x" * 20)
    return root


# ------------------------------------------------------------------ ranks


def test_ranks_names_the_slow_one(tmp_path: Path) -> None:
    write_job(tmp_path, 8, 10_000, 5, 4_000, waiting=False, seed=0)
    done = stepscope("ranks", tmp_path)
    assert done.stdout.startswith("Rank 5 on node0 takes 1.2 times the median step, since step")
    (row,) = answer("ranks", tmp_path)["slow"]
    assert row["rank"] == "5"
    assert stepscope("ranks", tmp_path, "--format", "csv").stdout.count("\n") == 2


# ------------------------------------------------------------------ cache


def test_a_second_process_opens_what_the_first_kept(tmp_path: Path) -> None:
    path = tmp_path / "h.xplane.pb"
    events = [Event(f"op {row}", row, 1, {"text": "x" * 2000}) for row in range(400)]
    path.write_bytes(space(host(line("main", *events))))
    time.sleep(2.1)  # what has just changed is not kept
    cache = {"STEPSCOPE_CACHE": "", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    first = stepscope("show", "trace_viewer", path, "-f", "json", **cache)
    second = stepscope("show", "trace_viewer", path, "-f", "json", **cache)
    assert first.returncode == 0, first.stderr
    assert first.stdout == second.stdout
    verified = stepscope("cache", "--verify", **cache)
    assert re.search(r"  same  .*h\.xplane\.pb\n1 entries, ", verified.stdout)
    assert "removed 1 entries" in stepscope("cache", "--clear", **cache).stdout
    assert stepscope("cache", **cache).stdout.startswith("0 entries")


# ------------------------------------------------------------------ sql


def test_sql_answers_and_keeps_its_door_closed(logdir: Path) -> None:
    query = "SELECT count(*) AS n FROM steps"
    assert answer("sql", logdir, query) == [{"n": 8}]
    assert stepscope("sql", logdir, query).stdout.split() == ["N", "8"]
    assert "duration_us" in stepscope("sql", logdir).stdout
    refused = stepscope("sql", logdir, "SELECT * FROM read_csv('/etc/passwd')")
    assert refused.returncode == 2
    assert "read_csv" in refused.stderr


# ------------------------------------------------------------------ show


def test_worked_example_is_answered_as_worked_out(logdir: Path) -> None:
    got = answer("show", "overview_page", logdir)
    assert got["tool"] == "overview_page" and got["session"] == "2024_01_02_00_00_00"
    assert got["steps"]["count"] + got["steps"]["dropped"] == 8
    assert got["steps"]["time_ms"]["mean"] == pytest.approx(0.9)
    parts = got["breakdown_ms"]
    assert parts["input"] == pytest.approx(0.2)
    assert parts["host_to_device"] == pytest.approx(0.03)
    assert parts["device_compute_16"] + parts["device_compute_32"] == pytest.approx(0.15)
    assert got["device"]["busy_frac"] == pytest.approx(0.2)
    assert sum(parts.values()) == pytest.approx(got["steps"]["time_ms"]["mean"])


def test_what_was_not_looked_for_is_not_called_missing(logdir: Path) -> None:
    printed = stepscope("show", "overview_page", logdir, "--per", "recording").stdout
    assert "The recording as a whole is accounted for, as was asked." in printed
    assert "\nThe whole recording · " in printed
    assert "Step time" not in printed
    printed = stepscope("show", "overview_page", logdir, "--range", "0-1us").stdout
    assert "\nThe whole selection · " in printed


def test_diagnosis_for_the_terminal_says_the_same(logdir: Path) -> None:
    done = stepscope("show", "overview", logdir)
    assert done.returncode == 0 and done.stderr == ""
    got = answer("show", "overview_page", logdir)
    for expected in (got["headline"], "Average step", "What to change", "Completeness", "20.0%"):
        assert expected in done.stdout
    assert "\x1b" not in done.stdout, "no colour when piped"
    # Labels have commas of their own.
    cpu = stepscope("show", "overview", logdir, "--run", "2024_01_01_00_00_00").stdout
    assert "no time in: device compute, 16-bit · device compute, 32-bit or unknown · " in cpu


def test_run_and_options(logdir: Path) -> None:
    got = answer(
        "show", "op_stats", logdir, "--run", "2024_01_01_00_00_00", "--where", "host", "--top", "1"
    )
    assert got["session"] == "2024_01_01_00_00_00"
    assert len(got["ops"]) == 1 and got["ops"][0]["host_or_device"] == "Host"


def test_formats_hold_the_same_rows(logdir: Path, tmp_path: Path) -> None:
    rows = answer("show", "framework_op_stats", logdir)["ops"]
    text = stepscope("show", "framework_op_stats", logdir, "--format", "csv").stdout
    listed = list(csv.DictReader(io.StringIO(text)))
    assert [float(row["self_time_us"]) for row in listed] == [row["self_time_us"] for row in rows]
    target = tmp_path / "out" / "ops.parquet"
    done = stepscope("show", "framework_op_stats", logdir, "--output", target)
    assert done.returncode == 0 and str(target) in done.stderr
    assert pl.read_parquet(target)["operation"].to_list() == [row["operation"] for row in rows]
    markdown = stepscope("show", "framework_op_stats", logdir, "--format", "md").stdout
    assert markdown.startswith("# ") and rows[0]["operation"] in markdown


def test_second_table_by_name(logdir: Path) -> None:
    command = ("show", "overview_page", logdir, "--format", "csv", "--table")
    text = stepscope(*command, "step_table").stdout
    assert len(list(csv.DictReader(io.StringIO(text)))) == 8
    wrong = stepscope(*command, "nope")
    assert wrong.returncode == 2 and "step_table" in wrong.stderr


def test_names_from_a_file_cannot_command_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "a.xplane.pb").write_bytes(hostile_names())
    for tool in ("overview_page", "framework_op_stats"):
        done = stepscope("show", tool, tmp_path)
        assert done.returncode in (0, 3)
        assert "\x1b" not in done.stdout + done.stderr
    assert any("\x1b" in name for name in HOSTILE_NAMES)


# ------------------------------------------------------------------ exit codes


def test_usage_is_exit_2(logdir: Path) -> None:
    for arguments in (
        ("show", "nope", logdir),
        ("show", "overview_page"),
        ("show", "overview_page", logdir, "--nope"),
        ("show", "framework_op_stats", logdir, "--group-by", "colour"),
        ("show", "overview_page", logdir, "--run", "nope"),
        ("show", "overview_page", logdir, "--host", "nope"),
        ("show", "overview_page", logdir, "--output", "x.docx"),
        ("show", "overview_page", logdir, "--format", "xml"),
        ("serve", logdir, "--host", "0.0.0.0", "--no-token"),
        ("serve", logdir, "--port", "70000"),
        ("nope",),
    ):
        done = stepscope(*arguments)
        assert done.returncode == 2, (arguments, done.stderr)
        assert done.stderr.startswith("error: ") and "hint:" in done.stderr
        assert "Traceback" not in done.stderr and done.stdout == ""
        assert "Value error" not in done.stderr


def test_nothing_to_show_is_exit_3_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "a.xplane.pb").write_bytes(no_events())
    done = stepscope("show", "framework_op_stats", tmp_path)
    assert done.returncode == 3
    assert "why:" in done.stderr and "hint:" in done.stderr


def test_unreadable_input_is_exit_4_with_place_and_hint(tmp_path: Path) -> None:
    (tmp_path / "empty.xplane.pb").write_bytes(b"")
    (tmp_path / "text.xplane.pb").write_bytes(b"this is a text and no profile at all\n" * 9)
    (tmp_path / "folder").mkdir()
    for name in ("empty.xplane.pb", "text.xplane.pb", "folder", "absent"):
        done = stepscope("show", "overview_page", tmp_path / name)
        assert done.returncode == 4, done.stderr
        assert name in done.stderr and "why:" in done.stderr and "hint:" in done.stderr


def test_output_that_cannot_be_written_is_exit_4_with_place_and_hint(
    logdir: Path, tmp_path: Path
) -> None:
    (tmp_path / "taken").mkdir()
    for arguments in (
        ("show", "framework_op_stats", logdir, "-f", "csv", "-o", tmp_path / "taken"),
        ("export", logdir, "-o", tmp_path / "taken"),
        ("compare", logdir, logdir, "-f", "csv", "-o", tmp_path / "taken"),
        ("check", logdir, "--max-step-time", "1s", "--junit", tmp_path / "taken"),
        ("repair", next(logdir.rglob("vm.xplane.pb")), "-o", tmp_path / "taken"),
    ):
        done = stepscope(*arguments)
        assert done.returncode == 4, (arguments, done.stderr)
        assert f"where: {tmp_path / 'taken'}" in done.stderr and "hint:" in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="/dev/full is Linux's")
@pytest.mark.parametrize("format", ["table", "csv", "json"])
def test_a_full_disk_below_standard_output_is_no_bug(logdir: Path, format: str) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "stepscope", "show", "overview_page", logdir, "-f", format],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 4
    assert done.stderr.startswith("error: The output cannot be written.")
    assert "No space left on device" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "slug"),
    [
        (("show", "nope", "."), 2, "usage"),
        (("show", "overview_page", "absent"), 4, "no-such-path"),
        (("ls", "absent"), 4, "no-such-path"),
        (("advise", "absent"), 4, "no-such-path"),
    ],
)
def test_errors_as_json_keep_stdout_json(
    arguments: tuple[str, ...], code: int, slug: str, tmp_path: Path
) -> None:
    done = stepscope(*arguments, "--format", "json")
    assert done.returncode == code
    body = json.loads(done.stdout)
    assert body["error"] == slug and body.keys() == {"error", "what", "where", "why", "hint"}
    assert body["what"] in done.stderr


def test_an_error_keeps_its_exit_code_when_nobody_reads_its_json() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "stepscope", "ls", "absent", "--format", "json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert process.wait(60) == 4
    assert process.stderr.read().startswith(b"error: There is no such file or folder.")
    process.stderr.close()


def test_repair_leaves_what_is_no_recording_alone(logdir: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    assert stepscope("export", logdir, "-o", trace).returncode == 0
    before = trace.read_bytes()
    done = stepscope("repair", trace)
    assert done.returncode == 4, done.stderr
    assert "Only an XSpace can be repaired." in done.stderr
    assert "Perfetto trace" in done.stderr
    assert trace.read_bytes() == before


def test_a_port_that_cannot_be_is_told_before_anything_is_done() -> None:
    for command in (("demo",), ("serve", ".")):
        done = stepscope(*command, "--port", "65536")
        assert (done.returncode, done.stdout) == (2, ""), done.stderr
        assert "65535" in done.stderr and "Traceback" not in done.stderr


def test_reader_that_stops_early_is_no_failure(logdir: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "stepscope", "show", "overview_page", str(logdir)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert process.wait(60) == 0
    assert process.stderr.read() == b""
    process.stderr.close()


# ------------------------------------------------------------------ ls, advise, version


def test_ls_lists_runs_hosts_and_reasons(logdir: Path) -> None:
    got = answer("ls", logdir, "--check")
    assert [run["id"] for run in got["runs"]] == ["2024_01_02_00_00_00", "2024_01_01_00_00_00"]
    states = {Path(file["path"]).name: file for file in got["files"]}
    assert states["vm.xplane.pb"]["state"] == "opened"
    assert states["events.out.tfevents.1.vm"]["state"] == "skipped"
    assert (
        states["events.out.tfevents.1.vm"]["reason"] and states["events.out.tfevents.1.vm"]["hint"]
    )
    text = stepscope("ls", logdir).stdout
    assert "2024_01_02_00_00_00" in text and "events.out.tfevents.1.vm" in text


def test_advise_says_what_to_change_and_what_it_looked_for(logdir: Path) -> None:
    got = answer("advise", logdir)
    assert got["findings"][0].keys() >= {"rule", "severity", "confidence", "message", "actions"}
    outcomes = {one["rule"]: one["outcome"] for one in got["checked"]}
    assert list(outcomes) == got["rules_checked"]
    # Of rules that name the same time only the one with the cause is listed.
    assert {one["rule"] for one in got["findings"]} <= {
        rule for rule, outcome in outcomes.items() if outcome == "fired"
    }
    assert "failed" not in outcomes.values()
    # A symptom comes after the causes that explain it.
    place = {one["rule"]: at for at, one in reversed(list(enumerate(got["findings"])))}
    for finding in got["findings"]:
        assert all(place[cause] < place[finding["rule"]] for cause in finding["explained_by"])
    text = stepscope("advise", logdir).stdout
    assert got["findings"][0]["message"].split()[0] in text
    assert stepscope("advise", logdir, "--format", "md").stdout.startswith("# ")


def test_version_is_quick_and_says_what_it_runs_on() -> None:
    times = []
    for _ in range(3):
        began = time.monotonic()
        assert stepscope("version").stdout.startswith("stepscope ")
        times.append(time.monotonic() - began)
    assert min(times) < 1.0, "version must not import the analyses"
    verbose = stepscope("version", "-v").stdout
    for word in ("python", "decoder", "web pages", "numpy", "polars"):
        assert word in verbose
    assert re.search(r"^decoder (native|pure Python)", verbose, re.MULTILINE)


def test_version_and_help_import_nothing_heavy() -> None:
    probe = (
        "import sys; from stepscope.surfaces.cli.main import run; run(['version']);"
        "heavy = {'numpy', 'polars', 'pandas', 'werkzeug', 'tensorflow', 'jax', 'torch'};"
        "print(sorted(heavy & set(sys.modules)));"
        "print(sum(name.startswith('stepscope') for name in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=False
    )
    _, heavy, ours = done.stdout.splitlines()
    assert heavy == "[]", done.stderr
    assert int(ours) <= 12, "version needs only the command line's own modules"


def test_help_of_a_tool_lists_its_options() -> None:
    text = stepscope("show", "framework_op_stats", "--help").stdout
    for flag in ("--group-by", "--include-idle", "--no-include-idle", "--format", "--top"):
        assert flag in text
    assert "overview_page" in stepscope("show", "--help").stdout


def test_demo_shows_the_sample_or_says_how_to_get_it() -> None:
    done = stepscope("demo", "--no-serve")
    assert done.returncode == 0, done.stderr
    assert "input" in done.stdout.lower()


# ------------------------------------------------------------------ real recordings


@pytest.mark.skipif(not (SHARED / "data").is_dir(), reason="../shared/data is not here")
def test_every_real_recording_opens_or_says_exactly_why() -> None:
    got = answer("ls", SHARED / "data" / "xplane", "--check")
    states = {Path(file["path"]).parent.name: file for file in got["files"]}
    failed = {name for name, file in states.items() if file["state"] != "opened"}
    assert failed == {"malformed"}
    assert "re-encoded" in states["malformed"]["reason"] and "byte" in states["malformed"]["reason"]
    assert len(states) >= 15


def test_scripts_hear_on_stderr_that_a_file_is_cut(tmp_path: Path) -> None:
    whole = worked_example(gpu=True)
    cut = tmp_path / "host.xplane.pb"
    cut.write_bytes(whole[: len(whole) * 2 // 3])
    made = tmp_path / "made"
    for arguments in (
        ("show", "framework_op_stats", cut, "--format", "json"),
        ("show", "framework_op_stats", cut, "--format", "csv"),
        ("export", cut, "--output", made, "--format", "chrome"),
    ):
        done = stepscope(*arguments)
        assert done.returncode == 0, done.stderr
        assert done.stderr.startswith("warning: ") and "breaks at byte" in done.stderr
