"""What a framework does on the loop's thread, and what to do about it."""

from __future__ import annotations

from stepscope.tables.python.library_files import COMPILED_CALL, is_around
from tests.unit.advice.test_largest_part import account, first, part


def test_what_is_compiled_already_is_not_told_to_be_compiled() -> None:
    row = part(kind="framework", first=COMPILED_CALL, first_kind="framework", first_frac=0.9)
    found = first(account(row))
    assert "mode='reduce-overhead'" in found.actions[0]
    assert not any("Put the whole step into one compiled" in one for one in found.actions)


def test_where_it_is_a_small_share_the_step_is_told_to_be_compiled() -> None:
    row = part(kind="framework", first=COMPILED_CALL, first_kind="framework", first_frac=0.3)
    assert "one compiled function" in first(account(row)).actions[0]


def test_only_decorators_of_packages_of_models_stand_for_nothing() -> None:
    assert is_around("diffusers/utils/peft_utils.py", "wrapper")
    assert is_around("/venv/site-packages/transformers/utils/generic.py", "f.<locals>.wrapper")
    assert not is_around("train.py", "wrapper")
    assert not is_around("transformers/models/vit/modeling_vit.py", "ViTModel.forward")
