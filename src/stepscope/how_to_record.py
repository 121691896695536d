"""How to record what a profile lacks: what empty pages, the CLI and errors tell a person to do."""

from __future__ import annotations

from typing import Final

OPS: Final = (
    "Record with stepscope record train.py, or with host_tracer_level 2 or more: "
    "tf.profiler.experimental.start(logdir) or jax.profiler.start_trace(logdir)."
)
STEPS: Final = (
    "Record several steps, each inside stepscope.step(number), "
    'tf.profiler.experimental.Trace("train", step_num=number, _r=1) or '
    'jax.profiler.StepTraceAnnotation("train", step_num=number), or ended by torch.profiler\'s '
    "step()."
)
DEVICE: Final = (
    "Record on a machine with an accelerator: stepscope doctor says whether its driver "
    "allows profiling, stepscope record train.py records."
)
EXCHANGES: Final = (
    "Record a job whose devices exchange something, every rank of it at the same time: stepscope "
    "record train.py in each process, or the framework's own profiler."
)
COMPILED: Final = (
    "Record a program that XLA compiles (jax.jit, tf.function(jit_compile=True)): stepscope record "
    "train.py, or any profiler with enable_hlo_proto left on. On a CPU, XLA's runtime of some "
    "versions (that of JAX 0.4.30 and 0.6.2) runs ops without recording them."
)
FLOPS: Final = (
    "Record a program that XLA compiles (jax.jit, tf.function(jit_compile=True)): stepscope record "
    "train.py, or any profiler with enable_hlo_proto left on; or PyTorch with "
    "torch.profiler.profile(record_shapes=True)."
)
TF_DATA: Final = (
    "Record while the program takes batches from a tf.data.Dataset: stepscope record train.py, or "
    "tf.profiler.experimental.start(logdir) with host_tracer_level 2 or more."
)
SERVER: Final = (
    "Record the server while it answers requests: stepscope capture HOST:PORT LOGDIR, or "
    'tf.profiler.experimental.client.trace("grpc://HOST:PORT", logdir, 2000).'
)
MEMORY: Final = (
    "Record with stepscope record train.py, which counts the allocations on the CPU, too. "
    "Otherwise: PyTorch's report with torch.profiler.profile(profile_memory=True), of GPU and "
    "TPU in TensorFlow and JAX at host_tracer_level 2, TensorFlow's of the CPU when "
    "TF_CPU_ALLOCATOR_USE_BFC=1 is in its environment."
)
HARDWARE_COUNTERS: Final = (
    "Record with JAX on a TPU or an NVIDIA GPU: options = jax.profiler.ProfileOptions(), then "
    'options.advanced_configuration = {"tpu_perf_counters": True} or '
    '{"gpu_pm_sample_counters": "sm__cycles_active.sum"} (CUPTI metrics, with commas), then '
    "jax.profiler.start_trace(logdir, profiler_options=options)."
)
TPU_COUNTERS: Final = (
    "Record on a TPU v6e or TPU7x with the chip's counters on: "
    "options = jax.profiler.ProfileOptions(); "
    'options.advanced_configuration = {"tpu_perf_counters": True}; '
    "jax.profiler.start_trace(logdir, profiler_options=options)."
)
SLICES: Final = (
    "Record a program on several TPU slices (jax.distributed.initialize() on every host, a mesh "
    "with an axis across slices) for several steps: stepscope record train.py on each host, or "
    "any profiler with enable_hlo_proto left on."
)
MODULES: Final = (
    "Record PyTorch with torch.profiler.profile(with_stack=True, record_shapes=True), or with "
    "stepscope record --python-level 1 train.py."
)
SHAPES: Final = (
    "Record PyTorch on a GPU with torch.profiler.profile(record_shapes=True), or with "
    "stepscope record train.py."
)
TORCH_COMPILED: Final = (
    "Record a PyTorch program that uses torch.compile or torch.cuda.graph, with "
    "torch.profiler.profile(record_shapes=True, with_stack=True) or stepscope record train.py."
)
ENGINE: Final = (
    "Record vLLM (--profiler-config, then POST /start_profile) or SGLang (POST /start_profile) "
    "while it answers requests; both mark their steps."
)
FLIGHT_RECORDER: Final = (
    "Run PyTorch with TORCH_FR_BUFFER_SIZE=2000 and TORCH_NCCL_DUMP_ON_TIMEOUT=1 in its "
    "environment; when a collective times out, each rank writes a dump "
    "(TORCH_NCCL_DEBUG_INFO_TEMP_FILE, by default /tmp/nccl_trace_rank_N). Give the folder with "
    "the dumps of all ranks."
)
START: Final = "Record from the program's begin: stepscope record train.py."
STEP_LOG: Final = (
    "Log every step: stepscope record --steps-log run.steps train.py, or stepscope.init("
    'log="run.steps") in the program.'
)
