"""Limits for CI: what exceeds them, what is noise, and what nobody can tell."""

from dataclasses import replace

import numpy as np
import pytest

from stepscope.comparison.compare import Side, side_of
from stepscope.comparison.gate import METRICS, GateReport, check
from stepscope.comparison.limit import Limit
from stepscope.errors import UsageError
from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.steps.statistics import difference
from tests.profiles import gpu, host, line, space, stream
from tests.profiles.loops import Kernel, Loop, record
from tests.profiles.model import EventLike

KERNELS = (Kernel("sgemm", 400, "dense/MatMul:MatMul"), Kernel("relu", 200, "act/Relu:Relu"))
BASE = Loop(kernels=KERNELS, steps=12, wait="cuStreamSynchronize", heap=(1 << 30, 8 << 30, 0.1))


def run(loop: Loop, name: str = "new") -> Side:
    hosts = tuple(Host(name, decode(data)) for name, data in record(loop).items())
    return side_of(name, Profile(name, hosts))


def judged(new: Loop, old: Loop | None = None, **limits: str) -> GateReport:
    parsed = {name: Limit.parse(text, METRICS[name], name) for name, text in limits.items()}
    return check(run(new), parsed, run(old, "old") if old else None)


def statuses(found: GateReport) -> dict[str, str]:
    return dict(zip(found.limits["metric"], found.limits["status"], strict=True))


def test_a_step_that_grew_more_than_allowed_fails_and_names_the_op() -> None:
    slower = replace(BASE, kernels=(KERNELS[0], replace(KERNELS[1], us=300)))
    found = judged(slower, BASE, step_time="+5%")
    assert found.status == "exceeded"
    (blamed,) = found.guilty.rows()
    assert (blamed["name"], blamed["kind"]) == ("act/Relu", "slower")
    assert blamed["delta_ms"] == pytest.approx(0.1, rel=0.05)
    # 100 of some 605 µs: within 20 %.
    assert judged(slower, BASE, step_time="+20%").status == "kept"
    assert judged(slower, BASE, step_time="+50us").status == "exceeded"


def test_a_given_batch_size_makes_steps_of_two_batches_comparable() -> None:
    longer = replace(BASE, kernels=(replace(KERNELS[0], us=1000), KERNELS[1]))
    sides = [
        side_of(name, run(loop).profile, size)
        for name, loop, size in (("old", BASE, 64), ("new", longer, 128))
    ]
    limit = {"example_time": Limit.parse("+5%", "time", "example_time")}
    assert check(sides[1], limit, sides[0]).status == "kept"
    same = replace(sides[1], examples=64.0)
    assert check(same, limit, sides[0]).status == "exceeded"
    assert judged(longer, BASE, example_time="+5%").status == "missing"


def test_limits_without_a_sign_need_no_baseline() -> None:
    # 600 µs of kernels, launched within 10: a step of 0.61 ms.
    assert judged(BASE, step_time="0.5ms").status == "exceeded"
    assert judged(BASE, step_time="1ms").status == "kept"
    assert judged(BASE, step_time="0.001s").status == "kept"


def test_shares_of_the_step_are_limits_on_its_parts() -> None:
    waiting = replace(BASE, input_us=200)
    found = judged(waiting, input="5%", device="90%", collectives="0ms")
    assert statuses(found) == {"input": "exceeded", "device": "kept", "collectives": "kept"}
    assert judged(waiting, BASE, input="+0.1ms").status == "exceeded"
    assert judged(waiting, waiting, input="+1%").status == "kept"


def test_what_the_baseline_has_nothing_of_grew_by_no_share_of_it() -> None:
    found = judged(replace(BASE, input_us=200), BASE, input="+0.1ms")
    (row,) = found.limits.rows()
    assert (row["status"], row["baseline"], row["change_frac"]) == ("exceeded", "0 ms", None)
    assert row["message"] == "The baseline has none of it."


def test_memory_is_limited_in_bytes_and_in_growth() -> None:
    more = replace(BASE, heap=(2 << 30, 8 << 30, 0.1))
    found = judged(more, BASE, peak_memory="+10%")
    assert found.status == "exceeded"
    assert list(found.limits["change_frac"]) == [pytest.approx(1.0, rel=0.01)]
    assert judged(more, peak_memory="4GiB").status == "kept"
    assert judged(more, peak_memory="1GiB").status == "exceeded"


def test_idle_devices_are_limited() -> None:
    assert judged(replace(BASE, python_us=3000), idle="50%").status == "exceeded"
    assert judged(BASE, idle="50%").status == "kept"


def test_what_was_not_recorded_is_missing() -> None:
    found = judged(replace(BASE, heap=None), step_time="1s", peak_memory="8GiB")
    assert statuses(found) == {"step_time": "kept", "peak_memory": "missing"}
    assert found.status == "missing"
    assert "does not record" in list(found.limits["message"])[1]


@pytest.mark.parametrize(("old_steps", "new_steps"), [(12, 2), (2, 12), (2, 2)])
def test_growth_of_too_few_steps_to_show_their_noise_is_unknown(
    old_steps: int, new_steps: int
) -> None:
    slower = replace(BASE, kernels=(KERNELS[0], replace(KERNELS[1], us=300)), steps=new_steps)
    limits = {"step_time": "+5%", "device": "+5%", "peak_memory": "+10%"}
    found = judged(slower, replace(BASE, steps=old_steps), **limits)
    assert statuses(found) == {"step_time": "unknown", "device": "unknown", "peak_memory": "kept"}
    (message, *_) = found.limits["message"]
    assert message.startswith("Separated, too few steps to test")
    assert found.status == "unknown"
    # Nothing shows that a change of twice the limit would have been seen; absolute limits need no
    # baseline.
    assert judged(slower, replace(BASE, steps=old_steps), step_time="+30%").status == "unknown"
    assert judged(slower, step_time="0.5ms").status == "exceeded"


def test_occurrences_within_five_steps_show_the_noise_of_a_part() -> None:
    many = tuple(Kernel(f"gemm{n}", 100, f"d{n}/MatMul:MatMul") for n in range(6))
    base = replace(BASE, kernels=many, steps=5)
    slower = replace(base, kernels=tuple(replace(kernel, us=120) for kernel in many))
    found = judged(slower, base, step_time="+5%", device="+5%")
    assert statuses(found) == {"step_time": "unknown", "device": "exceeded"}


def test_growth_of_each_tenth_step_exceeds_the_limit_by_the_tail() -> None:
    chance = np.random.default_rng(4)
    limit = {"step_time": Limit.parse("+5%", "time", "--max-step-time")}
    old, new = (noisy(chance, 1000, 0.01, 102, slow) for slow in (1.0, 3.0))
    (row,) = check(new, limit, old).limits.rows()
    assert row["status"] == "exceeded"
    assert "tail" in row["message"]


@pytest.mark.parametrize(
    ("slow", "limit", "status", "end"),
    [
        (30.0, "+5%", "unknown", "too few of them to tell."),
        (30.0, "+250%", "kept", ""),  # the outlier is no growth beyond it
    ],
)
def test_an_outlier_that_may_be_chance_is_not_kept(
    slow: float, limit: str, status: str, end: str
) -> None:
    chance = np.random.default_rng(5)
    limits = {"step_time": Limit.parse(limit, "time", "--max-step-time")}
    old, new = (noisy(chance, 1000, 0.01, 14, factor) for factor in (1.0, slow))
    (row,) = check(new, limits, old).limits.rows()
    assert (row["status"], row["message"].rpartition(", ")[2]) == (status, end)


@pytest.mark.parametrize(
    ("undisturbed_ms", "status", "message"),
    [
        ((0.50, 0.60), "exceeded", "Grew by "),
        ((0.50, 0.51), "unknown", "While nothing records it grew by +2.0 %."),
        ((0.50, 0.40), "unknown", "While nothing records it grew by −20.0 %."),
        ((0.50, None), "exceeded", "Grew by "),  # one side alone shows nothing
        ((None, 0.60), "exceeded", "Grew by "),
    ],
)
def test_growth_that_only_recorded_steps_show_may_be_the_recorders(
    undisturbed_ms: tuple[float | None, float | None], status: str, message: str
) -> None:
    slower = replace(BASE, kernels=(KERNELS[0], replace(KERNELS[1], us=300)))
    old, new = (
        replace(run(loop, name), undisturbed_ms=ms)
        for loop, name, ms in zip((BASE, slower), ("old", "new"), undisturbed_ms, strict=True)
    )
    limits = {"step_time": Limit.parse("+5 %", "time", "--max-step-time")}
    found = check(new, limits, old)
    assert found.status == status
    assert message in next(found.limits.rows())["message"]
    assert ("While nothing records: " in found.headline) == (None not in undisturbed_ms)
    # No doubt where the recorded steps keep the limit.
    assert check(old, limits, new).status == "kept"


def test_undisturbed_growth_is_of_examples_if_the_limit_is() -> None:
    longer = replace(BASE, kernels=(replace(KERNELS[0], us=1000), KERNELS[1]))
    limits = {"example_time": Limit.parse("+5%", "time", "--max-example-time")}
    old = replace(side_of("old", run(BASE).profile, 64), undisturbed_ms=0.6)
    new = replace(side_of("new", run(longer).profile, 64), undisturbed_ms=1.2)
    assert check(new, limits, old).status == "exceeded"
    # Undisturbed, the steps take as long for twice the examples.
    (row,) = check(replace(new, examples=80.0), limits, old).limits.rows()
    assert row["status"] == "exceeded"
    (row,) = check(replace(new, undisturbed_ms=0.61), limits, old).limits.rows()
    assert row["status"] == "unknown"


def test_an_exceeded_limit_is_worse_than_an_unknown_one() -> None:
    found = judged(replace(BASE, heap=None), peak_memory="8GiB", step_time="1us")
    assert found.status == "exceeded"


def noisy(
    chance: np.random.Generator, kernel_us: float, noise: float, steps: int = 40, tenth: float = 1.0
) -> Side:
    """Steps of one kernel whose time varies by this share, and times ``tenth`` in each tenth."""
    marks: list[EventLike] = []
    kernels: list[EventLike] = []
    at = 0.0
    for step in range(steps):
        us = kernel_us * (1 + noise * chance.normal()) * (tenth if step % 10 == 5 else 1.0)
        marks.append(("train", at, us + 10, {"step_num": step, "_r": 1}))
        kernels.append(("sgemm", at + 5, us, {"tf_op": "dense/MatMul:MatMul"}))
        at += us + 12
    data = space(host(line("python", *marks)), gpu(0, stream(7, *kernels)))
    return side_of("noisy", Profile("noisy", (Host("h", decode(data)),)))


@pytest.mark.slow
def test_a_gate_of_five_per_cent_fails_on_six_and_never_on_noise() -> None:
    chance = np.random.default_rng(3)
    limit = {"step_time": Limit.parse("+5%", "time", "--max-step-time")}
    trials = 200
    for _ in range(trials):
        old = noisy(chance, 1000, 0.01)
        assert check(noisy(chance, 1000, 0.01), limit, old).status == "kept"
        assert check(noisy(chance, 1060, 0.01), limit, old).status == "exceeded"


def test_wild_noise_cannot_tell_whether_a_limit_is_kept() -> None:
    chance = np.random.default_rng(5)
    limit = {"step_time": Limit.parse("+5%", "time", "--max-step-time")}
    found = [
        check(noisy(chance, 1000, 0.3, 14), limit, noisy(chance, 1000, 0.3, 14)) for _ in range(20)
    ]
    assert sum(one.status == "unknown" for one in found) >= 19
    # However wild, a run that takes 4.5 times as long fails.
    slow = noisy(chance, 4500, 0.3, 14)
    assert check(slow, limit, noisy(chance, 1000, 0.3, 14)).status == "exceeded"


def test_nothing_is_exceeded_by_steps_that_a_comparison_cannot_tell_apart() -> None:
    """The interval of the growth begins just above 0, where a comparison sees no change."""
    limit = {"step_time": Limit.parse("+5%", "time", "--max-step-time")}
    old = noisy(np.random.default_rng(5), 1000, 0.1, 14)
    low_us, high_us = 1000.0, 2000.0
    while True:
        new = noisy(np.random.default_rng(6), (low_us + high_us) / 2, 0.1, 14)
        found = difference(old.parts.sample, new.parts.sample)
        if 0 < found.low < 0.01 * found.baseline:
            break
        low_us, high_us = (
            (low_us, (low_us + high_us) / 2) if found.low > 0 else ((low_us + high_us) / 2, high_us)
        )
    assert found.outcome == "unknown"
    report = check(new, limit, old)
    assert report.headline.startswith("Cannot tell")
    assert report.status == "unknown"


@pytest.mark.parametrize(
    ("text", "quantity", "number", "is_change", "is_share"),
    [
        ("+5%", "time", 0.05, True, True),
        ("30ms", "time", 30.0, False, False),
        ("1.5s", "time", 1500.0, False, False),
        ("+250us", "time", 0.25, True, False),
        ("250 µs", "time", 0.25, False, False),
        ("8GiB", "bytes", 8 * 2**30, False, False),
        ("+512MiB", "bytes", 512 * 2**20, True, False),
        ("1.5GB", "bytes", 1.5e9, False, False),
        ("10%", "share", 0.1, False, True),
        ("5%", "part", 0.05, False, True),
        (".5ms", "part", 0.5, False, False),
    ],
)
def test_limits_are_read_as_people_write_them(
    text: str, quantity: str, number: float, is_change: bool, is_share: bool
) -> None:
    found = Limit.parse(text, quantity, "--max")  # type: ignore[arg-type]  # parametrised text
    assert found.number == pytest.approx(number)
    assert (found.is_change, found.is_share) == (is_change, is_share)


@pytest.mark.parametrize(
    ("text", "quantity"),
    [
        ("30", "time"),
        ("5%", "time"),
        ("-5%", "time"),
        ("8GiB", "time"),
        ("ten ms", "time"),
        ("30ms", "bytes"),
        ("10%", "bytes"),
        ("1e3ms", "time"),
        ("", "time"),
        ("30ms", "share"),
    ],
)
def test_what_is_no_limit_says_what_would_be(text: str, quantity: str) -> None:
    with pytest.raises(UsageError, match="--max-it cannot be") as raised:
        Limit.parse(text, quantity, "--max-it")  # type: ignore[arg-type]  # parametrised text
    assert raised.value.hint.startswith("Say ")
