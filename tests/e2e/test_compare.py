"""``stepscope compare`` and ``stepscope check`` as a shell and a CI job meet them."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.profiles.loops import Kernel, Loop, record

KERNELS = (Kernel("sgemm", 400, "dense/MatMul:MatMul"), Kernel("relu", 200, "act/Relu:Relu"))


def stepscope(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "stepscope", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log directory of three runs: as it was, 6 % slower, and with an op removed."""
    root = tmp_path_factory.mktemp("compare")
    loops = {
        "2026_11_21_10_00_00": Loop(kernels=KERNELS, steps=12, wait="cuStreamSynchronize"),
        "2026_11_21_11_00_00": Loop(
            kernels=(Kernel("sgemm", 440, "dense/MatMul:MatMul"), KERNELS[1]),
            steps=12,
            wait="cuStreamSynchronize",
        ),
        "2026_11_21_12_00_00": Loop(kernels=KERNELS[:1], steps=12, wait="cuStreamSynchronize"),
    }
    for name, loop in loops.items():
        folder = root / "plugins" / "profile" / name
        folder.mkdir(parents=True)
        for host, data in record(loop).items():
            file = folder / f"{host}.xplane.pb"
            file.write_bytes(data)
    return root


def runs(logdir: Path) -> list[Path]:
    return sorted((logdir / "plugins" / "profile").iterdir())


def test_json_keeps_its_contract(logdir: Path) -> None:
    old, slower, _ = runs(logdir)
    done = stepscope("compare", old, slower, "--format", "json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["tool"] == "compare"
    assert {"delta_ms", "significant", "interval_ms", "parts"} <= answer.keys()
    assert {"kind", "name", "delta_ms"} <= answer["parts"][0].keys()
    assert sum(part["delta_ms"] for part in answer["parts"]) == pytest.approx(
        answer["delta_ms"], rel=1e-3
    )
    assert answer["significant"] is True
    low, high = answer["interval_ms"]
    assert low <= answer["delta_ms"] <= high
    assert (answer["parts"][0]["kind"], answer["parts"][0]["name"]) == ("slower", "dense/MatMul")


def test_csv_is_the_parts_at_full_precision(logdir: Path) -> None:
    old, _, removed = runs(logdir)
    done = stepscope("compare", old, removed, "-f", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert (rows[0]["kind"], rows[0]["name"]) == ("removed", "act/Relu")
    assert float(rows[0]["delta_ms"]) == pytest.approx(-0.2, rel=0.05)
    kernels = stepscope("compare", old, removed, "-f", "csv", "--table", "kernels")
    assert next(csv.DictReader(io.StringIO(kernels.stdout)))["name"] == "relu"


def test_a_log_directory_of_several_runs_is_a_trend_from_old_to_new(logdir: Path) -> None:
    done = stepscope("compare", logdir, "-f", "json")
    answer = json.loads(done.stdout)
    assert [row["run"].rsplit("/", 1)[-1][11:13] for row in answer["runs"]] == ["10", "11", "12"]
    assert answer["delta_ms"] == pytest.approx(-0.2, rel=0.05)
    assert "The runs, in order" in stepscope("compare", logdir).stdout


def test_markdown_and_terminal_lead_with_the_verdict(logdir: Path, tmp_path: Path) -> None:
    old, slower, _ = runs(logdir)
    target = tmp_path / "answer.md"
    done = stepscope("compare", old, slower, "-f", "md", "-o", target)
    assert done.returncode == 0, done.stderr
    assert "slower" in target.read_text("utf-8").splitlines()[2]
    assert "% slower: " in stepscope("compare", old, slower).stdout


def test_a_change_beyond_the_limit_fails_the_job_and_names_the_op(
    logdir: Path, tmp_path: Path
) -> None:
    old, slower, removed = runs(logdir)
    summary, junit = tmp_path / "summary.md", tmp_path / "junit.xml"
    summary.write_text("# The job\n", encoding="utf-8")
    done = stepscope(
        "check",
        slower,
        "--baseline",
        old,
        "--max-step-time",
        "+5%",
        "--summary",
        summary,
        "--junit",
        junit,
    )
    assert done.returncode == 1, done.stderr
    assert "dense/MatMul" in done.stdout
    text = summary.read_text("utf-8")
    assert text.startswith("# The job\n### ❌")
    assert "dense/MatMul" in text
    assert 'failures="1"' in junit.read_text("utf-8")
    assert stepscope("check", removed, "--baseline", old).returncode == 0
    failed = stepscope("check", slower, "--baseline", old)
    assert failed.returncode == 1  # +5% by default
    assert "\n  step_time: Grew by +" in failed.stdout  # whatever the width
    assert stepscope("check", slower, "--max-step-time", "1ms").returncode == 0


def test_a_part_of_the_step_by_name(logdir: Path) -> None:
    old, slower, _ = runs(logdir)
    assert stepscope("check", slower, "--baseline", old, "--max", "device=+1ms").returncode == 0
    assert stepscope("check", slower, "--baseline", old, "--max", "device=+1us").returncode == 1


def test_what_cannot_be_judged_is_code_3(logdir: Path) -> None:
    done = stepscope("check", runs(logdir)[0], "--max-peak-memory", "8GiB", "-f", "json")
    assert done.returncode == 3
    assert json.loads(done.stdout)["status"] == "missing"


@pytest.mark.parametrize(
    "arguments",
    [
        ("--max-step-time", "+5%"),
        ("--max-step-time", "fast"),
        ("--max", "nonsense=5%"),
        ("--max", "device"),
        (),
    ],
)
def test_wrong_limits_are_usage_errors(logdir: Path, arguments: tuple[str, ...]) -> None:
    done = stepscope("check", runs(logdir)[0], *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")


def test_one_run_is_not_enough(logdir: Path) -> None:
    done = stepscope("compare", runs(logdir)[0], "--format", "json")
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"] == "one-run"
