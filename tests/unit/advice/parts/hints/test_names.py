"""What is asked of a function by its name."""

from __future__ import annotations

import pytest

from stepscope.advice.parts.hints.names import of_name


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("PrioritizedReplay.sample", "a sum tree"),
        ("mel_filterbank", "make it once, before the loop"),
        ("AerialTiles.photometric", "cut out or shrink first"),
        ("AUCMetric.update", "once an epoch"),  # its class tells, where its own name does not
        ("collate_fn", "Pad to the longest of the batch"),
        ("parseRecord", "arrays in place of text"),
        ("EwmVariance.__call__", "associative scan"),
        ("build_knn_graph", "a k-d tree"),
    ],
)
def test_a_name_tells_what_it_is_for(name: str, asked: str) -> None:
    (ask,) = of_name(name)
    assert asked in ask


@pytest.mark.parametrize("name", ["", "main", "train_step", "Model.forward", "…"])
def test_other_names_tell_nothing(name: str) -> None:
    assert of_name(name) == ()


def test_words_are_whole() -> None:
    """A catalogue does not log, and a thread does not read."""
    assert of_name("catalogue") == ()
    assert of_name("threaded") == ()


def test_ops_are_not_asked_what_only_python_does() -> None:
    assert of_name("ReplayBuffer.push", is_ops=True) == ()
    assert of_name("relative_bias_mask", is_ops=True)


def test_a_strangers_name_may_be_long() -> None:
    assert of_name("a." * 100_000 + "sample")
    assert of_name("Ab" * 100_000) == ()


@pytest.mark.parametrize("name", ["log_likelihood", "Net.log_prob", "logp", "LogNormal", "logits"])
def test_a_logarithm_is_no_log(name: str) -> None:
    assert not any("for a log" in ask for ask in of_name(name))


@pytest.mark.parametrize(
    "name",
    ["log_step", "Trainer.log", "log_metrics", "logger", "log_details", "log_weights", "log_parts"],
)
def test_a_log_is_one(name: str) -> None:
    assert any("for a log" in ask or "only reports" in ask for ask in of_name(name))
