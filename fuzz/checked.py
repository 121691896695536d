"""``python -m fuzz.checked FOLDER``: the package with kernels that check every access.

Copies ``src/stepscope`` to FOLDER and compiles the kernels there with Cython's bounds checks on
and under AddressSanitizer and UndefinedBehaviorSanitizer. Prints how to run the fuzzer on it.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "stepscope"
_UNCHECKED = "boundscheck=False, wraparound=False, initializedcheck=False"
_CHECKED = "boundscheck=True, wraparound=False, initializedcheck=True"
# Freed memory that is kept apart, so that a late access is seen: more than one input frees. The
# sanitizer's own 256 MB let every allocation miss the caches: tries take a third longer.
_QUARANTINE_MB = 8
# Of the calls that led to an allocation; each costs time, at every allocation of a column.
_CALLERS_KEPT = 3
_SANITIZE = ["-fsanitize=address,undefined", "-fno-omit-frame-pointer", "-O1", "-g"]


def build(folder: Path) -> None:
    """Make the checked package below ``folder``; kernels that have not changed are kept."""
    package = folder / "stepscope"
    names = (SOURCE / "kernels" / "_kernels.txt").read_text("utf-8").split()
    stamp = folder / "kernels.sha256"
    wanted = hashlib.sha256(b"".join((SOURCE / "kernels" / name).read_bytes() for name in names))
    is_built = stamp.is_file() and stamp.read_text("utf-8") == wanted.hexdigest()
    if package.exists() and not is_built:
        shutil.rmtree(package)
    ignored = shutil.ignore_patterns("*.so", "*.pyd", "*.c", "__pycache__", "static")
    shutil.copytree(SOURCE, package, ignore=ignored, dirs_exist_ok=True)
    for name in names:
        path = package / "kernels" / name
        text = path.read_text("utf-8")
        if _UNCHECKED not in text:
            raise SystemExit(f"{name} does not switch bounds checks off where this looks for it")
        path.write_text(text.replace(_UNCHECKED, _CHECKED), "utf-8")
    if not is_built:
        _compile(folder, names)
        stamp.write_text(wanted.hexdigest(), "utf-8")


def _compile(folder: Path, kernels: list[str]) -> None:
    program = (
        "from setuptools import Extension, setup; from Cython.Build import cythonize; "
        f"names = {[Path(name).stem for name in kernels]!r}; "
        f"flags = {_SANITIZE!r}; "
        "setup(name='checked', packages=[], script_args=['-q', 'build_ext', '--inplace'], "
        "ext_modules=cythonize([Extension('stepscope.kernels.' + name, "
        "['stepscope/kernels/' + name + '.py'], extra_compile_args=flags, "
        "extra_link_args=flags[:1]) for name in names], quiet=True, "
        "compiler_directives={'show_performance_hints': False}))"
    )
    subprocess.run([sys.executable, "-c", program], cwd=folder, check=True)


def environment(folder: Path) -> dict[str, str]:
    """What runs a program on the checked package below ``folder``."""
    library = subprocess.run(
        ["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    ).stdout.strip()
    return {
        "LD_PRELOAD": library,
        "ASAN_OPTIONS": f"detect_leaks=0:quarantine_size_mb={_QUARANTINE_MB}"
        f":malloc_context_size={_CALLERS_KEPT}",
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
        "STEPSCOPE_CORE": "native",
        "PYTHONPATH": str(folder),
    }


def main() -> int:
    """Build, and say how to go on."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.checked", description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    build(folder)
    setting = " ".join(f"{name}={value}" for name, value in environment(folder).items())
    print(f"{setting} {sys.executable} -m fuzz.decode --seconds 60")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
