"""Fails where the installed Stepscope is not a release: kernels compiled, pages there, it answers.

cibuildwheel runs it against every wheel, outside of the checkout.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import stepscope
from stepscope.kernels.core import compiled


def main() -> int:
    """Say what is missing; 1 if anything is."""
    package = Path(stepscope.__file__).parent
    wrong = []
    if not compiled():
        wrong.append("the kernels are not compiled")
    if not (package / "surfaces" / "static" / "index.html").is_file():
        wrong.append("the pages are missing")
    command = [sys.executable, "-m", "stepscope", "demo", "--no-serve"]
    told = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    if told.returncode or "Input-bound" not in told.stdout:
        wrong.append(f"the demo does not answer: {told.stderr[-500:]}")
    for one in wrong:
        print(f"{package}: {one}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
