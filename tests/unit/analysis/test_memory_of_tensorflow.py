"""TensorFlow on the CPU, recorded live: its allocator's events become a memory profile."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stepscope.analysis.memory_profile import ALLOCATOR, memory_profile
from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host, Profile

PROGRAM = """
import sys
import tensorflow as tf

@tf.function
def work(x):
    return tf.reduce_sum(tf.matmul(x, x) + 1.0)

x = tf.random.normal([512, 512])
work(x)
tf.profiler.experimental.start(sys.argv[1])
for i in range(3):
    with tf.profiler.experimental.Trace("train", step_num=i, _r=1):
        work(x)
tf.profiler.experimental.stop()
"""
TENSOR_BYTES = 512 * 512 * 4


@pytest.mark.framework_tf
@pytest.mark.slow
def test_the_cpu_allocator_reports_when_asked_to(tmp_path: Path) -> None:
    pytest.importorskip("tensorflow")
    environment = os.environ | {"TF_CPU_ALLOCATOR_USE_BFC": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        env=environment,
        check=True,
        timeout=120,
        capture_output=True,
    )
    (path,) = tmp_path.rglob("*.xplane.pb")
    found = memory_profile(Profile("s", (Host("h", decode(path.read_bytes())),)))
    assert {memory.source for memory in found.memories} == {ALLOCATOR}
    fullest = found.memories[0]
    # The input was there before; the product is allocated in every step.
    assert fullest.peak_bytes >= 2 * TENSOR_BYTES
    assert sum(fullest.breakdown["allocation_bytes"]) == fullest.peak_bytes
    products = [row for row in found.timeline.rows() if row["op_name"] == "MatMul"]
    taken = [row for row in products if row["event"] == "allocation"]
    assert {row["step"] for row in taken} == {0, 1, 2}
    assert all(row["requested_bytes"] == TENSOR_BYTES for row in taken)
    assert all((row["data_type"], row["shape"]) == ("float", "[512,512]") for row in taken)
