"""What a framework does on the loop's thread, and what to do about it."""

from __future__ import annotations

from stepscope.tables.python.library_files import is_around


def test_only_decorators_of_packages_of_models_stand_for_nothing() -> None:
    assert is_around("diffusers/utils/peft_utils.py", "wrapper")
    assert is_around("/venv/site-packages/transformers/utils/generic.py", "f.<locals>.wrapper")
    assert not is_around("train.py", "wrapper")
    assert not is_around("transformers/models/vit/modeling_vit.py", "ViTModel.forward")
