"""The compiled kernels; everything else about the package is declared in ``pyproject.toml``.

``src/stepscope/kernels/_kernels.txt`` names the modules, one per line. They are ordinary Python
files with Cython annotations, so every one is optional: where it cannot be compiled the
installation says so and the module runs as it is, slowly.

A release must not be slow: with ``STEPSCOPE_REQUIRE_KERNELS=1`` a kernel that does not compile ends
the build. With ``STEPSCOPE_ABI3=1`` one wheel serves CPython 3.11 and all later ones.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, setup

PACKAGE = Path("src", "stepscope", "kernels")
# Cython's own code for memoryviews, once beside the kernels: in each it is 45 kB of a wheel.
# It also enters the list of modules by its last name alone, which so must be of nobody else.
SHARED = "stepscope.kernels._stepscope_cython"
# Typed memoryviews need the buffer interface, which the limited API has from here on.
LIMITED_API = (3, 11)


def is_set(name: str) -> bool:
    """Whether a switch of the environment is on."""
    return os.environ.get(name, "") not in ("", "0")


REQUIRED = is_set("STEPSCOPE_REQUIRE_KERNELS")
# Free-threaded builds have no stable ABI.
ABI3 = (
    is_set("STEPSCOPE_ABI3")
    and sys.version_info >= LIMITED_API
    and not sysconfig.get_config_var("Py_GIL_DISABLED")
)


# Tables by which C++ would unwind the stack, and functions that nothing calls, are 5 kB of each
# module in a wheel.
_COMPILE = [
    # What -O3 adds that these loops gain from: the rest of it is 10 kB of each module.
    *("-O2", "-ftree-vectorize", "-funswitch-loops", "-fpeel-loops"),
    *("-g0", "-fno-asynchronous-unwind-tables", "-ffunction-sections"),
]


def extension(name: str, suffix: str) -> Extension:
    """One module of the kernels, as this machine compiles it."""
    limited = f"0x{LIMITED_API[0]:02X}{LIMITED_API[1]:02X}0000"
    return Extension(
        f"stepscope.kernels.{name}",
        [(PACKAGE / f"{name}.{suffix}").as_posix()],
        extra_compile_args=_COMPILE if os.name == "posix" else [],
        # Without symbols that only a debugger reads: 7 kB of each module in a wheel.
        extra_link_args=["-Wl,-s", "-Wl,--gc-sections"] if sys.platform == "linux" else [],
        define_macros=[("Py_LIMITED_API", limited)] if ABI3 else [],
        py_limited_api=ABI3,
    )


def kernels() -> list[Extension]:
    """The extension modules, translated to C; none where Cython is absent or fails."""
    listed = PACKAGE / "_kernels.txt"
    names = [line.strip() for line in listed.read_text("utf-8").splitlines()]
    wanted = [extension(Path(name).stem, "py") for name in names if name and name[0] != "#"]
    wanted.append(extension(SHARED.rpartition(".")[2], "c"))
    try:
        from Cython.Build import cythonize

        # Serial translation: each file takes a second, and process pools fail under some sandboxes.
        # Kernels need no signatures to inspect, which take 9 kB of each module in a wheel.
        translated: list[Extension] = cythonize(
            wanted,
            build_dir="build/cython",
            language_level=3,
            compiler_directives={"binding": False},
            shared_utility_qualified_name=SHARED,
        )
    except Exception as error:
        if REQUIRED:
            raise
        print(
            f"stepscope: kernels are not compiled ({error}); Stepscope will work, slowly.",
            file=sys.stderr,
        )
        return []
    for one in translated:
        one.optional = not REQUIRED
    return translated


options: dict[str, dict[str, object]] = {"build_ext": {"parallel": os.cpu_count() or 1}}
if ABI3:
    options["bdist_wheel"] = {"py_limited_api": f"cp{LIMITED_API[0]}{LIMITED_API[1]}"}

setup(ext_modules=kernels(), options=options)
