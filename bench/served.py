"""Our server on one recording, as a process of its own, and the most memory it held."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Final

from bench.measure import ProcessFailed, peak_mb_of

_PATIENCE_S: Final = 120


class Served:
    """``stepscope serve RECORDING`` from its start to its end.

    Attributes:
        began_s: When the process was started, in seconds since the epoch.
        url: What to open.
        process: Its number.
        peak_mb: The most memory it held; known at the end.

    Raises:
        ProcessFailed: It ended before it served.
    """

    def __init__(self, recording: Path, log: Path) -> None:
        env = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        command = [sys.executable, "-m", "stepscope", "serve", str(recording)]
        command += ["--no-browser", "--no-token", "--port", "0"]
        self.peak_mb = float("nan")
        self.began_s = time.time()
        with log.open("wb") as errors:
            self._child = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=errors, text=True, env=env
            )
        self.process = self._child.pid
        self.url = ""
        assert self._child.stdout is not None
        for line in self._child.stdout:
            if line.startswith("Open "):
                self.url = line.removeprefix("Open ").strip()
                break
        if not self.url:
            self.close()
            raise ProcessFailed(f"{' '.join(command)}\n{log.read_text('utf-8', 'replace')[-2000:]}")

    def close(self) -> None:
        """End the process and see what it took."""
        if self._child.returncode is not None:
            return
        self._child.send_signal(signal.SIGINT)
        deadline = time.monotonic() + _PATIENCE_S
        ended, status, usage = os.wait4(self._child.pid, os.WNOHANG)
        while not ended:
            if time.monotonic() > deadline:
                self._child.kill()
            time.sleep(0.02)
            ended, status, usage = os.wait4(self._child.pid, os.WNOHANG)
        self._child.returncode = os.waitstatus_to_exitcode(status)
        self.peak_mb = peak_mb_of(usage)

    def __enter__(self) -> Served:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
