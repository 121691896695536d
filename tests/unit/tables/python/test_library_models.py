"""Models of libraries: their own Python is how their ops are handed over."""

from __future__ import annotations

from stepscope.formats.xspace import decode
from stepscope.schema import names
from stepscope.tables.account.account import account
from stepscope.tables.account.owners import owners
from stepscope.tables.core.profile import Host
from tests.profiles import space
from tests.profiles.model import line, plane

_LIBRARY = "/venv/lib/python3.11/site-packages"
_GENERATE = f"${_LIBRARY}/transformers/generation/utils.py:2100 GenerationMixin.generate"
_CALL = f"${_LIBRARY}/torch/nn/modules/module.py:1774 Module._call_impl"
_WRAPPED = f"${_LIBRARY}/transformers/utils/generic.py:900 can_return.<locals>.wrapped_func"
_FORWARD = f"${_LIBRARY}/transformers/models/gpt2/modeling_gpt2.py:500 GPT2Model.forward"
_SCIPY = f"${_LIBRARY}/scipy/optimize/_lsap.py:9 assign"


def kinds(*inner: str) -> dict[str, float]:
    """Time of each kind's owners, in ms, of ten steps of 10 ms that all run these calls."""
    steps = [("train", 10_000 * at, 10_000, {"step_num": at, "_r": 1}) for at in range(10)]
    loop = line("main", *steps, id=7)
    stack = ("$/home/me/chat.py:4 main", "$/home/me/chat.py:40", *inner)
    host = Host(
        "h",
        decode(
            space(
                plane(names.HOST_PLANE, loop),
                plane(
                    names.PYTHON_SAMPLES_PLANE,
                    line("MainThread", *((one, 0, 100_000) for one in stack), id=7),
                ),
            )
        ),
    )
    found = account(host)
    assert found is not None
    listed = owners(found)
    return {one.kind: one.total_ps / 1e9 for one in listed}


def test_a_librarys_model_hands_its_ops_over() -> None:
    assert kinds(_GENERATE, _WRAPPED, _CALL, _FORWARD)["framework"] > 0
    assert "library" not in kinds(_GENERATE, _WRAPPED, _CALL, _FORWARD)
    assert "library" not in kinds(_CALL, _FORWARD, _WRAPPED)


def test_what_a_model_calls_in_other_libraries_is_theirs() -> None:
    assert "library" in kinds(_CALL, _FORWARD, _SCIPY)
