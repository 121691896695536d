"""Examples per step: from tf.data's batches, from the shapes of ops, or not known."""

from __future__ import annotations

import pytest

from stepscope.analysis.overview_page import Options, overview_page
from stepscope.errors import UsageError
from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.in_steps.batch_sizes import examples_per_step
from tests.profiles.model import Event, host, line, space

STEPS = 10


def profile(*hosts: bytes) -> Profile:
    return Profile("s", tuple(Host(f"h{n}", decode(one)) for n, one in enumerate(hosts)))


def loop(*work: Event, threads: tuple[Event, ...] = ()) -> bytes:
    """Ten marked steps of 2 ms, each with the same work."""
    marks = [Event("train", 2000.0 * n, 2000, {"step_num": n, "_r": 1}) for n in range(STEPS)]
    return space(
        host(line("python", *marks, *_repeated(work)), line("tf_data", *_repeated(threads)))
    )


def _repeated(work: tuple[Event, ...]) -> list[Event]:
    return [
        Event(one.name, 2000.0 * n + one.start_us, one.duration_us, one.stats)
        for n in range(STEPS)
        for one in work
    ]


def batches(size: int, per_step: int = 1) -> tuple[Event, ...]:
    return tuple(
        Event("Iterator::Root::Prefetch::BatchV2", 100.0 * at, 50, {"batch_size": size})
        for at in range(per_step)
    )


def made(tf_op: str, shape: str) -> Event:
    """An allocation of TensorFlow's, which has the shape that its op makes."""
    return Event("MemoryAllocation", 20, 0, {"tf_op": tf_op, "shape": shape})


_LOSS = "loss/SparseSoftmaxCrossEntropyWithLogits/SparseSoftmaxCrossEntropyWithLogits"


def op(name: str, shapes: str) -> Event:
    return Event(name, 10, 100, {"shape": shapes})


@pytest.mark.parametrize(
    ("recording", "examples", "source"),
    [
        (loop(threads=batches(64)), 64, "tf.data"),
        # Several batches to a step: steps_per_execution, or accumulated gradients.
        (loop(threads=batches(64, per_step=4)), 256, "tf.data"),
        (
            loop(
                op("aten/conv2d:conv2d", "[[32, 3, 224, 224], [64, 3, 7, 7]]"),
                op("aten/nll_loss_forward:nll_loss_forward", "[[32, 1000], [32]]"),
                op("aten/addmm:addmm", "[[1000], [32, 512], [512, 1000]]"),
            ),
            32,
            "shapes of ops",
        ),
        (
            loop(
                op("aten/linear:linear", "[[48, 784], [10, 784], [10]]"),
                op("aten/nll_loss_forward:nll_loss_forward", "[[48, 10], [48]]"),
            ),
            48,
            "shapes of ops",
        ),
        # A loop of TensorFlow's that is fed from numpy.
        (
            loop(
                made("matmul", "[256,1024]"),
                made("matmul_1", "[256,10]"),
                made(_LOSS, "[256]"),
                made("gradient_tape/matmul_1/MatMul_1", "[1024,10]"),
            ),
            256,
            "shapes of ops",
        ),
        (
            loop(
                made("StatefulPartitionedCall/model/conv2d_1/convolution", "[32,62,62,32]"),
                made("StatefulPartitionedCall/model/pool/MaxPool2d", "[32,31,31,32]"),
                made("gradient_tape/model/conv2d_1/convolution/Conv2DBackpropFilter", "[3,3,3,32]"),
            ),
            32,
            "shapes of ops",
        ),
    ],
)
def test_what_tells_the_batch(recording: bytes, examples: int, source: str) -> None:
    found = examples_per_step(profile(recording))
    assert found is not None
    assert (found.examples, found.source) == (examples, source)


@pytest.mark.parametrize(
    "recording",
    [
        loop(),
        # Two texts of 64 words each, and a graph's nodes of which the loss takes some.
        loop(
            op("aten/embedding:embedding", "[[2000, 64], [2, 64], [], [], []]"),
            op("aten/cross_entropy_loss:cross_entropy_loss", "[[128, 2000], [128]]"),
        ),
        loop(
            op("aten/linear:linear", "[[600, 128], [7, 128], [7]]"),
            op("aten/nll_loss_forward:nll_loss_forward", "[[356, 7], [356]]"),
        ),
        loop(threads=(*batches(64), *batches(32))),
        loop(op("aten/addmm:addmm", "[[1000], [32, 512], [512, 1000]]")),
        loop(
            op("aten/conv2d:conv2d", "[[32, 3, 224, 224]]"),
            op("aten/mse_loss:mse_loss", "[[4096, 10], [4096, 10]]"),
        ),
        loop(op("aten/conv2d:conv2d", "nonsense")),
        loop(
            made("embedding/embedding_lookup", "[2,64,128]"),
            made("dense/MatMul", "[128,2000]"),
            made(_LOSS, "[128]"),
        ),
        # Four micro-batches to a step, or several losses of one batch: shapes do not tell which.
        loop(
            *(
                Event("aten/cross_entropy_loss:cross_entropy_loss", at, 50, {"shape": "[[32, 9]]"})
                for at in (10, 200, 400, 600)
            )
        ),
    ],
    ids=[
        "nothing",
        "words",
        "nodes",
        "two sizes",
        "weights only",
        "two extents",
        "no shape",
        "words of TensorFlow",
        "micro-batches",
    ],
)
def test_what_does_not_tell_the_batch(recording: bytes) -> None:
    assert examples_per_step(profile(recording)) is None


def test_hosts_add_their_parts_and_one_that_is_silent_leaves_the_sum_unknown() -> None:
    one, other = loop(threads=batches(64)), loop(threads=batches(32))
    found = examples_per_step(profile(one, other))
    assert found is not None
    assert found.examples == 96
    assert examples_per_step(profile(one, loop())) is None


def test_the_overview_has_the_throughput_found_or_given() -> None:
    found = overview_page(profile(loop(threads=batches(64)))).throughput
    assert found.examples_per_s == pytest.approx(64 / 2e-3)
    given = overview_page(profile(loop()), Options(batch_size=10)).throughput
    assert given.examples_per_s == pytest.approx(5000)
    assert given.source == "given"
    assert overview_page(profile(loop())).throughput.examples_per_s is None
    with pytest.raises(UsageError, match="batch_size"):
        overview_page(profile(loop()), Options(batch_size=0))
