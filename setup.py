"""The compiled kernels; everything else about the package is declared in ``pyproject.toml``.

``src/stepscope/kernels/_kernels.txt`` names the modules, one per line. They are ordinary Python
files with Cython annotations, so every one is optional: where it cannot be compiled the
installation says so and the module runs as it is, slowly.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from setuptools import Extension, setup

PACKAGE = Path("src", "stepscope", "kernels")


def kernels() -> list[Extension]:
    """The extension modules, translated to C; none where Cython is absent or fails."""
    listed = PACKAGE / "_kernels.txt"
    names = [line.strip() for line in listed.read_text("utf-8").splitlines()]
    wanted = [
        Extension(
            f"stepscope.kernels.{Path(name).stem}",
            [(PACKAGE / name).as_posix()],
            extra_compile_args=["-O3", "-g0"] if os.name == "posix" else [],
        )
        for name in names
        if name and not name.startswith("#")
    ]
    try:
        from Cython.Build import cythonize

        # Serial translation: each file takes a second, and process pools fail under some sandboxes.
        translated: list[Extension] = cythonize(wanted, build_dir="build/cython", language_level=3)
    except Exception as error:
        print(
            f"stepscope: kernels are not compiled ({error}); Stepscope will work, slowly.",
            file=sys.stderr,
        )
        return []
    for extension in translated:
        extension.optional = True
    return translated


setup(ext_modules=kernels(), options={"build_ext": {"parallel": os.cpu_count() or 1}})
