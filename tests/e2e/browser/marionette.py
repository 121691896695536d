"""The system's Firefox over Marionette, its own protocol: JSON over a socket, no driver needed.

Playwright drives Firefox over WebDriver BiDi, with commands that extended support releases lack.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

NAMES = ("firefox-esr", "firefox")
_START_S = 60.0
_ANSWER_S = 60.0
# What Firefox itself would ask the network for.
_PREFERENCES = {
    "app.normandy.enabled": False,
    "app.update.disabledForTesting": True,
    "browser.safebrowsing.downloads.remote.enabled": False,
    "browser.safebrowsing.malware.enabled": False,
    "browser.safebrowsing.phishing.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.homepage": "about:blank",
    "browser.startup.homepage_override.mstone": "ignore",
    "datareporting.policy.dataSubmissionEnabled": False,
    "extensions.update.enabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "toolkit.telemetry.reportingpolicy.firstRun": False,
}
# Requests of pages (those of the browser itself have no page), and errors on the console.
_WATCH = """
const seen = { requests: [], complaints: [] };
Services.obs.addObserver({ observe(subject) {
  const channel = subject.QueryInterface(Ci.nsIHttpChannel);
  if (channel.loadInfo.browsingContextID) seen.requests.push(channel.URI.spec);
} }, "http-on-opening-request");
Services.console.registerListener({ observe(message) {
  if (!(message instanceof Ci.nsIScriptError) || message.flags & Ci.nsIScriptError.warningFlag)
    return;
  const ofPage = /^(file|data|blob|https?):/.test(message.sourceName);
  if (ofPage) seen.complaints.push(message.errorMessage);
} });
Services.wm.getMostRecentWindow("navigator:browser").stepscopeSeen = seen;
"""
_SEEN = """
return JSON.stringify(Services.wm.getMostRecentWindow("navigator:browser").stepscopeSeen);
"""


def firefox() -> str | None:
    """The program; None where there is none."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Firefox:
    """A headless Firefox with a profile of its own.

    Args:
        program: The browser.
        profile: An empty folder.
    """

    def __init__(self, program: str, profile: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        preferences = {**_PREFERENCES, "marionette.port": port}
        lines = [f"user_pref({json.dumps(k)}, {json.dumps(v)});" for k, v in preferences.items()]
        (profile / "user.js").write_text("\n".join(lines), "utf-8")
        command = [program, "--headless", "--marionette", "--no-remote", "--profile", str(profile)]
        command.append("-remote-allow-system-access")  # for what only the browser itself can see
        self._process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._count = 0
        try:
            self._socket = self._connect(port)
            self._receive()  # its greeting
            self.ask("WebDriver:NewSession", capabilities={})
            self.in_browser(_WATCH)
        except BaseException:
            self._process.kill()
            self._process.wait()
            raise

    def _connect(self, port: int) -> socket.socket:
        until = time.monotonic() + _START_S
        while True:
            try:
                return socket.create_connection(("127.0.0.1", port), _ANSWER_S)
            except OSError:
                if time.monotonic() > until or self._process.poll() is not None:
                    raise
                time.sleep(0.2)

    def _receive(self) -> Any:
        head = b""
        while not head.endswith(b":"):
            head += self._some(1)
        size, body = int(head[:-1]), b""
        while len(body) < size:
            body += self._some(size - len(body))
        return json.loads(body)

    def _some(self, most: int) -> bytes:
        data = self._socket.recv(most)
        if not data:
            raise ConnectionError("Firefox has ended")
        return data

    def ask(self, command: str, **parameters: Any) -> Any:
        """The value of a command's answer; raises AssertionError with Firefox's error."""
        self._count += 1
        body = json.dumps([0, self._count, command, parameters]).encode()
        self._socket.sendall(f"{len(body)}:".encode() + body)
        _, number, error, result = self._receive()
        assert number == self._count
        assert error is None, error
        return result.get("value") if isinstance(result, dict) else result

    def go(self, address: str) -> None:
        """Open an address and wait for its load event."""
        self.ask("WebDriver:Navigate", url=address)

    def run(self, script: str, *values: Any) -> Any:
        """What a script in the page returns."""
        return self.ask("WebDriver:ExecuteScript", script=script, args=list(values))

    def until(self, expression: str, seconds: float = 20.0) -> Any:
        """What an expression gives in the page as soon as it gives something."""
        end = time.monotonic() + seconds
        while not (found := self.run(f"return {expression}")):
            assert time.monotonic() < end, f"never: {expression}"
            time.sleep(0.05)
        return found

    def in_browser(self, script: str) -> Any:
        """What a script in the browser itself returns."""
        self.ask("Marionette:SetContext", value="chrome")
        try:
            return self.ask("WebDriver:ExecuteScript", script=script, args=[])
        finally:
            self.ask("Marionette:SetContext", value="content")

    def seen(self) -> dict[str, list[str]]:
        """``requests`` that pages made over HTTP, and ``complaints`` of the console."""
        found: dict[str, list[str]] = json.loads(self.in_browser(_SEEN))
        return found

    def close(self) -> None:
        """End the browser."""
        self._socket.close()
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
