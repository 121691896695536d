"""A little of the fuzzing, in every run of the tests; ``python -m fuzz.decode`` does more."""

from __future__ import annotations

import random

import pytest

from fuzz.decode import check_sound, try_once
from fuzz.fields import joined, reframed, taken_apart
from fuzz.mutate import mutated, small_space
from fuzz.targets import differential
from stepscope.columns import Space
from stepscope.formats.xspace import decode
from tests.oracle.protobuf_space import canonical


def test_the_seed_is_sound_and_has_every_kind_of_stat() -> None:
    seed = small_space()
    assert try_once(seed) == "sound"
    assert canonical(seed) is not None
    found = decode(seed)
    assert sorted(set(found.event_stats.kind.tolist())) == [2, 3, 4, 5, 6, 7]
    assert found.unknown and found.events.occurrences and found.event_metadata.child_id


@pytest.mark.parametrize("seed", range(4))
def test_mutated_profiles_never_crash(seed: int) -> None:
    rng, data = random.Random(seed), small_space()
    outcomes = {try_once(mutated(rng, data)) for _ in range(40)}
    assert "damaged" in outcomes, "mutations that break nothing prove nothing"


def test_the_check_finds_columns_that_contradict_each_other() -> None:
    found = decode(small_space())
    found.event_stats.key[3] = 10_000
    with pytest.raises(AssertionError):
        check_sound(found)


def test_messages_taken_apart_and_joined_are_the_same() -> None:
    seed = small_space()
    assert joined(taken_apart(seed)) == seed


def test_changed_fields_leave_most_messages_whole() -> None:
    rng, seed = random.Random(1), small_space()
    changed = [reframed(rng, seed) for _ in range(40)]
    assert len(set(changed)) > 30
    # A message may become a few bytes that are none.
    assert sum(canonical(each) is not None for each in changed) > 30


def test_what_goes_missing_without_a_word_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    seed = small_space()
    assert differential.TARGET.attempt(seed) == "equal"

    def forgetful(data: bytes, threads: int) -> Space:
        space = decode(data, threads=threads)
        space.events.duration_ps[-1] += 1
        return space

    monkeypatch.setattr(differential, "decode", forgetful)
    with pytest.raises(AssertionError, match="missing or changed"):
        differential.TARGET.attempt(seed)
