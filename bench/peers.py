"""``python3 dev.py bench --peers``: ours, XProf and xprof-rs, server against server.

Each has a fresh process on a folder of its own with one recording, in turn. It is asked for a
page's data, as its own page asks for it, twice, then ended, started once more in the same folder
and asked again. Times are medians of the rounds, from the request to the last byte. Processor time
and memory are those of the first process with its start. An answer without data is "failed", never
a time.

``--process`` asks from cold processes instead: our command line, XProf's own converter and, for
traces of PyTorch, HTA.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final
from urllib.parse import quote

from bench import pytorch
from bench.contestants import INCUMBENT, install_incumbent, ours
from bench.machine import machine, say
from bench.measure import ProcessFailed, Run, measure, middle, peak_mb_of
from bench.recordings import ROOT

RUST: Final = "xprof-rs==0.1.3"
FOLDER: Final = ROOT / ".stepscope" / "bench"
DATA: Final = ROOT.parent / "shared" / "data"
PAGES: Final = ("overview_page", "kernel_stats", "framework_op_stats")
FILES: Final = (
    "xplane/julia-gtx1080ti/1/*.xplane.pb",
    "xplane/jax-cpu/*.xplane.pb",
    "xplane/jax-mi300x/jax08_attention/*.xplane.pb",
    "xplane/tf-cpu-keras/*.xplane.pb",
    "xplane/jax-tpu-v6e-4/*.xplane.pb",
    "xplane/tf-v100-8gpu/*.xplane.pb",
    "xplane/tf-cpu-python-tracer/*.xplane.pb.gz",
    "xplane/tf-cpu-custom-loop-2M/*.xplane.pb.gz",
)
TRACES: Final = (
    "kineto/other/mi300-vllm-decode-graph.json.gz",
    "kineto/h100-vs-mi300/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
    "kineto/hta-trace-diff/control/control.json.gz",
)
_START_S: Final = 120.0
_ANSWER_S: Final = 300.0


@dataclass(frozen=True)
class Peer:
    """A server of profiles.

    Attributes:
        command: Its command line; ``{logdir}`` and ``{port}`` are filled in.
        page: The address of a page's data; ``{tool}``, ``{run}`` and ``{host}`` are filled in.
    """

    name: str
    command: tuple[str, ...]
    page: str


@dataclass(frozen=True)
class Round:
    """One peer on one page: seconds of three requests, the bytes of the answer, and the process."""

    first_s: float
    second_s: float
    reopened_s: float
    answer_bytes: int
    process: Run


class NotAnswered(Exception):
    """A peer gave no data; the message holds its answer."""


def main() -> int:
    """Measure every file and page, print a row each."""
    parser = argparse.ArgumentParser(prog="dev.py bench --peers", description=__doc__)
    parser.add_argument("--peers", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=3, help="fresh processes each (default 3)")
    parser.add_argument("--process", action="store_true", help="cold processes, not servers")
    parser.add_argument("--page", choices=PAGES, action="append", help="only these pages")
    parser.add_argument("files", nargs="*", type=Path, help="recordings; else the shared ones")
    given = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    pages = given.page or PAGES
    patterns = (*FILES, *TRACES) if given.process else FILES
    files = given.files or [path for one in patterns for path in sorted(DATA.glob(one))[:1]]
    if not files:
        print(f"{DATA} is not here: name the files to measure.")
        return 1
    print(machine())
    if given.process:
        cold_processes(files, given.rounds)
        return 0
    peers = [our_server(), *their_servers()]
    print(f"{'MB':>7}  {'recording':<28}{'page':<20}{'peer':<10}", end="")
    print("  first ms  second ms  reopened ms     kB   cpu s  peak MB")
    for path in files:
        with unpacked(path) as recording:
            for page in pages:
                serve_in_turn(recording, page, peers, given.rounds)
    return 0


# -------------------------------------------------------------------------------- contestants


def our_server() -> Peer:
    """This Stepscope, without its column cache: nothing is kept between rounds."""
    command = (sys.executable, "-m", "stepscope", "serve", "{logdir}", "--no-browser", "--no-token")
    return Peer(
        "stepscope", (*command, "--port", "{port}"), "/api/v1/tool/{tool}?run={run}&layout=coded"
    )


def their_servers() -> list[Peer]:
    """XProf and xprof-rs, each in an environment of its own; those that install here."""
    page = "/data/plugin/profile/data?run={run}&tag={tool}&host={host}"
    found = []
    for requirement, program in ((RUST, "xprof-rs"), (INCUMBENT, "xprof")):
        folder = environment(requirement)
        if folder is not None:
            command = (str(folder / "bin" / program), "--logdir", "{logdir}", "--port", "{port}")
            found.append(Peer(program, command, page))
    return found


def environment(requirement: str) -> Path | None:
    """A virtual environment with one package; None, with the reason said, where it fails."""
    folder = FOLDER / requirement.replace("==", "-")
    if (folder / "installed").exists():
        return folder
    say(f"installing {requirement}")
    try:
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "-qq", requirement]
        subprocess.run(pip, check=True)
    except (subprocess.CalledProcessError, OSError) as error:
        print(f"{requirement} is left out: it cannot be installed here: {error}")
        return None
    (folder / "installed").touch()
    return folder


# ------------------------------------------------------------------------------------ servers


def serve_in_turn(recording: Path, tool: str, peers: Sequence[Peer], rounds: int) -> None:
    """Print what each peer took for one page."""
    taken: dict[str, list[Round]] = {peer.name: [] for peer in peers}
    failures: dict[str, str] = {}
    for _ in range(rounds):
        for peer in peers:
            if peer.name in failures:
                continue
            try:
                taken[peer.name].append(round_of(peer, recording, tool))
            except NotAnswered as error:
                failures[peer.name] = str(error)
    for peer in peers:
        head = f"{recording.stat().st_size / 1e6:7.2f}  {recording.parent.name:<28.28}{tool:<20}"
        if peer.name in failures:
            print(f"{head}{peer.name:<10}  failed: {failures[peer.name]}", flush=True)
            continue
        runs = taken[peer.name]
        process = middle([run.process for run in runs])
        print(
            f"{head}{peer.name:<10}"
            f"{median(run.first_s for run in runs) * 1e3:10.1f}"
            f"{median(run.second_s for run in runs) * 1e3:11.1f}"
            f"{median(run.reopened_s for run in runs) * 1e3:13.1f}"
            f"{runs[0].answer_bytes / 1e3:7.0f}{process.cpu_s:8.2f}{process.peak_mb:9.0f}",
            flush=True,
        )


def round_of(peer: Peer, recording: Path, tool: str) -> Round:
    """One turn of a peer, on a folder that nobody has opened.

    Raises:
        NotAnswered: It does not start, or answers without data.
    """
    with tempfile.TemporaryDirectory(dir=FOLDER, prefix="peer-") as folder:
        run = Path(folder, "logdir", "plugins", "profile", "one")
        run.mkdir(parents=True)
        os.link(recording, run / "host.xplane.pb")
        with started(peer, Path(folder)) as (base, ended):
            first_s, answer_bytes = asked(base + peer.page, tool)
            second_s, _ = asked(base + peer.page, tool)
        with started(peer, Path(folder)) as (base, _):
            reopened_s, _ = asked(base + peer.page, tool)
    return Round(first_s, second_s, reopened_s, answer_bytes, ended[0])


@contextmanager
def started(peer: Peer, folder: Path) -> Iterator[tuple[str, list[Run]]]:
    """The address of a server that takes requests; the list holds its process when it has ended."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [word.format(logdir=folder / "logdir", port=port) for word in peer.command]
    env = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    env["XDG_CACHE_HOME"] = str(folder / "cache")
    began = time.perf_counter()
    log = folder / "server.log"
    with log.open("ab") as output:
        child = subprocess.Popen(words, stdout=output, stderr=subprocess.STDOUT, env=env)
    ended: list[Run] = []
    try:
        while True:
            if child.poll() is not None or time.perf_counter() - began > _START_S:
                tail = log.read_text("utf-8", "replace").strip().splitlines()[-1:]
                raise NotAnswered(f"it did not start: {' '.join(tail)[:80]}")
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}", ended
    finally:
        if child.returncode is None:
            child.send_signal(signal.SIGTERM)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            wall_s = time.perf_counter() - began
            ended.append(Run(wall_s, usage.ru_utime + usage.ru_stime, peak_mb_of(usage)))


def asked(page: str, tool: str) -> tuple[float, int]:
    """Seconds to the last byte of a page's data, and its bytes.

    Raises:
        NotAnswered: It is no JSON, or holds nothing.
    """
    url = page.format(tool=tool, run=quote("one"), host="host")
    request = urllib.request.Request(url, headers={"Accept-Encoding": "gzip"})
    began = time.perf_counter()
    try:
        with urllib.request.urlopen(request, timeout=_ANSWER_S) as answer:
            data: bytes = answer.read()
            is_packed = answer.headers.get("Content-Encoding") == "gzip"
    except (OSError, urllib.error.HTTPError) as error:
        raise NotAnswered(str(error)[:80]) from None
    seconds = time.perf_counter() - began
    if is_packed:
        data = gzip.decompress(data)
    try:
        value = json.loads(data)
    except ValueError:
        raise NotAnswered(f"no JSON: {data[:60]!r}") from None
    if not value or (isinstance(value, dict) and "error" in value):
        raise NotAnswered(f"no data: {data[:60]!r}")
    return seconds, len(data)


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """The recording as a plain file beside the results: peers read no gzip."""
    with tempfile.TemporaryDirectory(dir=FOLDER, prefix="file-") as folder:
        target = Path(folder, path.parent.name, path.name.removesuffix(".gz"))
        target.parent.mkdir()
        if path.suffix == ".gz":
            with gzip.open(path) as source, target.open("wb") as sink:
                shutil.copyfileobj(source, sink)
        else:
            shutil.copy(path, target)
        yield target


# ---------------------------------------------------------------------------------- processes


def cold_processes(files: Sequence[Path], rounds: int) -> None:
    """Print what each program takes from its start to the overview's data."""
    xprof = install_incumbent(FOLDER)
    hta = pytorch.hta()
    print(f"{'MB':>7}  {'recording':<36}{'program':<12}  wall s   cpu s  peak MB")
    for path in files:
        with unpacked(path) as recording:
            commands = {"stepscope": ours(recording, "overview_page")}
            if recording.name.endswith(".xplane.pb"):
                commands["xprof"] = xprof.command(recording, "overview_page")
            elif hta is not None:
                commands["HTA"] = pytorch.asking(hta, recording)
            measured = in_turn(commands, rounds)
            label = recording.parent.name
            for name, run in measured.items():
                head = f"{recording.stat().st_size / 1e6:7.2f}  {label:<36.36}{name:<12}"
                said = run if isinstance(run, str) else f"{run.wall_s:8.2f}{run.cpu_s:8.2f}"
                memory = "" if isinstance(run, str) else f"{run.peak_mb:9.0f}"
                print(f"{head}{said}{memory}", flush=True)


def in_turn(commands: dict[str, list[str]], rounds: int) -> dict[str, Run | str]:
    """Run commands one after the other, round by round; the medians, or why one failed."""
    runs: dict[str, list[Run]] = {name: [] for name in commands}
    failed: dict[str, Run | str] = {}
    for _ in range(rounds):
        for name, command in commands.items():
            if name in failed:
                continue
            try:
                runs[name].append(measure(command, FOLDER / "peers.log"))
            except ProcessFailed as error:
                failed[name] = f"failed: {str(error).splitlines()[-1][:60]}"
    return {name: failed.get(name) or middle(taken) for name, taken in runs.items()}
