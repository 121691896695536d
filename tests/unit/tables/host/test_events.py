"""What a host event of a name stands for."""

import pytest

from stepscope.tables.host.events import (
    Work,
    hashed_thread,
    is_pool_thread,
    is_tf_data_thread,
    work_of_name,
)


@pytest.mark.parametrize(
    ("name", "work"),
    [
        ("IteratorGetNext", Work.INPUT_WAIT),
        ("IteratorGetNextOp::DoCompute", Work.INPUT_WAIT),
        ("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", Work.INPUT_WAIT),
        ("FunctionRun", Work.NOTHING),
        ("EagerExecute", Work.NOTHING),
        ("ThreadpoolListener::Record", Work.NOTHING),
        ("$train.py:12 step", Work.NOTHING),
        ("cuLaunchKernel", Work.LAUNCH),
        ("hipExtModuleLaunchKernel", Work.LAUNCH),
        ("cudaGraphLaunch", Work.LAUNCH),
        ("ExecutorState::Process", Work.LAUNCH),
        ("backend_compile", Work.COMPILE),
        ("TfrtTpuCompiler::Compile", Work.COMPILE),
        ("tpu::System::TransferToDevice=>IssueEvent", Work.HOST_TO_DEVICE),
        ("a/MatMul:MatMul", Work.HOST_COMPUTE),
    ],
)
def test_work_with_a_gpu(name: str, work: Work) -> None:
    assert work_of_name(name, has_gpu=True) is work


def test_without_a_gpu_the_executor_computes() -> None:
    assert work_of_name("ExecutorState::Process", has_gpu=False) is Work.HOST_COMPUTE


def test_threads() -> None:
    assert is_tf_data_thread("tf_data_private_threadpool/7")
    assert is_pool_thread("tf_Compute/7")
    assert is_pool_thread("tf_XLAEigen/-7")
    assert not is_pool_thread("tf_data_iterator_resource/7")
    assert not is_pool_thread("my logger")


def test_device_work_outranks_what_it_hides() -> None:
    assert Work.COMPUTE_16 > Work.COMPUTE_32 > Work.INPUT_WAIT > Work.COLLECTIVE
    assert Work.COLLECTIVE > Work.HOST_TO_DEVICE > Work.LAUNCH > Work.HOST_COMPUTE > Work.NOTHING


@pytest.mark.parametrize("has_gpu", [False, True])
def test_a_wait_for_a_device_computes_nothing(has_gpu: bool) -> None:
    assert work_of_name("cudaDeviceSynchronize", has_gpu=has_gpu) is Work.WAIT


def test_work_of_a_profiler_is_none_of_the_program() -> None:
    assert work_of_name("Profiler: Buffer flush", has_gpu=True) is Work.NOTHING


def test_a_thread_is_hashed_as_gnu_does() -> None:
    """Numbers that TensorFlow 2.21 gave to threads of its own, which the sampler numbers so."""
    assert hashed_thread(140253566334656) == -7557030108705304379
    assert hashed_thread(140110508779200) == 1603864363367016156
