"""What each tool needs from a profile, and how to record what is missing.

The needs stand apart from the tools, so that a tool without its data is never imported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from stepscope.records import dataclass
from stepscope.schema import names

if TYPE_CHECKING:
    from stepscope.tables.core.profile import Profile


@dataclass(frozen=True, slots=True)
class Need:
    """Something a tool needs from a profile.

    Attributes:
        met: Whether the profile has it. Every page asks this of every tool, so the answer comes
            from names and the first matching event (``tables.core.presence``), never from a whole
            table.
        missing: One sentence when it has not, naming what is missing.
        record: How to record it: an option or a snippet.
    """

    met: Callable[[Profile], bool]
    missing: str
    record: str


@dataclass(frozen=True, slots=True)
class Unavailable:
    """Why a tool has nothing to show for a profile, and how to record what it needs."""

    missing: str
    record: str


def lacking(tool: str, profile: Profile) -> Unavailable | None:
    """Return what the tool of this id needs and the profile lacks; None if it can be shown."""
    for need in NEEDS.get(tool, ()):
        if not need.met(profile):
            return Unavailable(need.missing, need.record)
    return None


def _host(*functions: str) -> Callable[[Profile], bool]:
    """Whether one of these functions is true of a host: ``"<module of tables>:<function>"``."""
    return lambda profile: any(
        _imported(function)(host) for host in profile.hosts for function in functions
    )


def _profile(*functions: str) -> Callable[[Profile], bool]:
    """Whether one of these functions is true of the profile."""
    return lambda profile: any(_imported(function)(profile) for function in functions)


def _plane(name: str) -> Callable[[Profile], bool]:
    """Whether there is a plane of this name."""
    return lambda profile: any(
        plane.name == name for host in profile.hosts for plane in host.space.planes
    )


def _events(plane: str, *lines: str) -> Callable[[Profile], bool]:
    """Whether a plane of this name has events; where lines are named, on one of these."""
    return lambda profile: any(
        line.end > line.begin
        and line.name in (lines or (line.name,))
        and host.space.planes[line.plane].name == plane
        for host in profile.hosts
        for line in host.space.lines
    )


@cache
def _imported(function: str) -> Any:
    module, _, name = function.partition(":")
    return getattr(import_module(f"stepscope.tables.{module}"), name)


_OPS: Final = (
    "Record with stepscope record train.py, or with host_tracer_level 2 or more: "
    "tf.profiler.experimental.start(logdir) or jax.profiler.start_trace(logdir)."
)
_STEPS: Final = (
    "Record several steps, each inside stepscope.step(number), "
    'tf.profiler.experimental.Trace("train", step_num=number, _r=1) or '
    'jax.profiler.StepTraceAnnotation("train", step_num=number), or ended by torch.profiler\'s '
    "step()."
)
_DEVICE: Final = (
    "Record on a machine with an accelerator: stepscope doctor says whether its driver "
    "allows profiling, stepscope record train.py records."
)
_EXCHANGES: Final = (
    "Record a job whose devices exchange something, every rank of it at the same time: stepscope "
    "record train.py in each process, or the framework's own profiler."
)
_COMPILED: Final = (
    "Record a program that XLA compiles (jax.jit, tf.function(jit_compile=True)): stepscope record "
    "train.py, or any profiler with enable_hlo_proto left on. On a CPU, XLA's runtime of some "
    "versions (that of JAX 0.4.30 and 0.6.2) runs ops without recording them."
)
_FLOPS: Final = (
    "Record a program that XLA compiles (jax.jit, tf.function(jit_compile=True)): stepscope record "
    "train.py, or any profiler with enable_hlo_proto left on; or PyTorch with "
    "torch.profiler.profile(record_shapes=True)."
)
_TF_DATA: Final = (
    "Record while the program takes batches from a tf.data.Dataset: stepscope record train.py, or "
    "tf.profiler.experimental.start(logdir) with host_tracer_level 2 or more."
)
_SERVER: Final = (
    "Record the server while it answers requests: stepscope capture HOST:PORT LOGDIR, or "
    'tf.profiler.experimental.client.trace("grpc://HOST:PORT", logdir, 2000).'
)
_MEMORY: Final = (
    "Record with stepscope record train.py, which counts the allocations on the CPU, too. "
    "Otherwise: PyTorch's report with torch.profiler.profile(profile_memory=True), of GPU and "
    "TPU in TensorFlow and JAX at host_tracer_level 2, TensorFlow's of the CPU when "
    "TF_CPU_ALLOCATOR_USE_BFC=1 is in its environment."
)
_HARDWARE_COUNTERS: Final = (
    "Record with JAX on a TPU or an NVIDIA GPU: options = jax.profiler.ProfileOptions(), then "
    'options.advanced_configuration = {"tpu_perf_counters": True} or '
    '{"gpu_pm_sample_counters": "sm__cycles_active.sum"} (CUPTI metrics, with commas), then '
    "jax.profiler.start_trace(logdir, profiler_options=options)."
)
_TPU_COUNTERS: Final = (
    "Record on a TPU v6e or TPU7x with the chip's counters on: "
    "options = jax.profiler.ProfileOptions(); "
    'options.advanced_configuration = {"tpu_perf_counters": True}; '
    "jax.profiler.start_trace(logdir, profiler_options=options)."
)
_SLICES: Final = (
    "Record a program on several TPU slices (jax.distributed.initialize() on every host, a mesh "
    "with an axis across slices) for several steps: stepscope record train.py on each host, or "
    "any profiler with enable_hlo_proto left on."
)
_MODULES: Final = (
    "Record PyTorch with torch.profiler.profile(with_stack=True, record_shapes=True), or with "
    "stepscope record --python-level 1 train.py."
)
_SHAPES: Final = (
    "Record PyTorch on a GPU with torch.profiler.profile(record_shapes=True), or with "
    "stepscope record train.py."
)
_TORCH_COMPILED: Final = (
    "Record a PyTorch program that uses torch.compile or torch.cuda.graph, with "
    "torch.profiler.profile(record_shapes=True, with_stack=True) or stepscope record train.py."
)
_ENGINE: Final = (
    "Record vLLM (--profiler-config, then POST /start_profile) or SGLang (POST /start_profile) "
    "while it answers requests; both mark their steps."
)
_FLIGHT_RECORDER: Final = (
    "Run PyTorch with TORCH_FR_BUFFER_SIZE=2000 and TORCH_NCCL_DUMP_ON_TIMEOUT=1 in its "
    "environment; when a collective times out, each rank writes a dump "
    "(TORCH_NCCL_DEBUG_INFO_TEMP_FILE, by default /tmp/nccl_trace_rank_N). Give the folder with "
    "the dumps of all ranks."
)
_START: Final = "Record from the program's begin: stepscope record train.py."
_STEP_LOG: Final = (
    "Log every step: stepscope record --steps-log run.steps train.py, or stepscope.init("
    'log="run.steps") in the program.'
)

#: What tools need, by their ids, in the order of ``analysis.TOOLS``; all must be met. A tool that
#: is not here can be shown for every recording.
NEEDS: Final[Mapping[str, tuple[Need, ...]]] = {
    "startup": (
        Need(
            met=_events(names.START_PLANE, names.START_SPANS_LINE, names.START_LOOKS_LINE),
            missing="The program's start was not recorded.",
            record=_START,
        ),
    ),
    "step_log": (
        Need(
            met=_events(names.STEP_LOG_PLANE),
            missing="This is no step log.",
            record=_STEP_LOG,
        ),
    ),
    "input_pipeline_analyzer": (
        Need(
            met=lambda profile: (
                _profile("steps.session:has_aligned_steps")(profile)
                or _host("host.input_ops:has_input_ops")(profile)
            ),
            missing="Neither a step nor any input activity was recorded.",
            record=_STEPS,
        ),
    ),
    "tf_data_bottleneck_analysis": (
        Need(
            met=_host("tf_data.events:has_iterator_calls"),
            missing="No tf.data activity was recorded: no event is named Iterator:: and a stage.",
            record=_TF_DATA,
        ),
    ),
    "work_table": (
        Need(
            met=_host("device.events:has_device_events", "host.ops:has_host_ops"),
            missing="No run of an op was recorded in itself, on the host or on a device.",
            record=_OPS,
        ),
    ),
    "framework_op_stats": (
        Need(
            met=_host("device.events:has_device_events", "host.ops:has_host_ops"),
            missing="No run of a framework op was recorded in itself, on the host or on a device.",
            record=_OPS,
        ),
    ),
    "trace_viewer": (
        Need(
            met=lambda profile: any(len(host.space.events) for host in profile.hosts),
            missing="The recording holds no events.",
            record=_OPS,
        ),
    ),
    "kernel_stats": (
        Need(
            met=_host("device.kernels:runs_kernels"),
            missing="A TPU runs no kernels, but the ops of its programs.",
            record="See HLO Ops, Op Profile and Roofline: stepscope show hlo_stats LOGDIR.",
        ),
        Need(
            met=_host("device.kernels:has_kernels"),
            missing="No kernel of a GPU was recorded.",
            record=_DEVICE,
        ),
    ),
    "device_idle": (
        Need(
            met=_host("device.events:has_device_events"),
            missing="Nothing was recorded on a device.",
            record=_DEVICE,
        ),
        Need(
            met=_host("steps.markers:has_account"),
            missing="Nothing that takes time was recorded.",
            record=_STEPS,
        ),
        Need(
            met=_profile("in_steps.idle:has_idle"),
            missing="No device ran anything in a step.",
            record=_STEPS,
        ),
    ),
    "step_account": (
        Need(
            met=_host("steps.markers:has_account"),
            missing="No event that lasts was recorded on a thread or a device.",
            record=_OPS,
        ),
    ),
    "host_activity": (
        Need(
            met=_host("steps.markers:has_account"),
            missing="Nothing that takes time was recorded.",
            record=_STEPS,
        ),
    ),
    "module_tree": (
        Need(
            met=_host("ops.module_tree:has_modules"),
            missing="No call of an nn.Module was recorded; PyTorch writes them with stacks only.",
            record=_MODULES,
        ),
    ),
    "compiled_regions": (
        Need(
            met=_host(
                "torch.presence:has_regions",
                "torch.presence:has_triton_kernels",
                "torch.presence:has_replays",
            ),
            missing="Nothing of torch.compile, no kernel of Triton's and no CUDA graph ran.",
            record=_TORCH_COMPILED,
        ),
    ),
    "op_profile": (
        Need(
            met=_profile("ops.hlo_presence:has_device_ops"),
            missing="No op was recorded, on a device or on the host.",
            record=_OPS,
        ),
    ),
    "hlo_stats": (
        Need(
            met=_profile("ops.hlo_presence:has_compiled_ops"),
            missing="No run of an op compiled by XLA was recorded.",
            record=_COMPILED,
        ),
    ),
    "roofline_model": (
        Need(
            met=_profile("ops.hlo_presence:has_compiled_ops", "ops.hlo_presence:has_known_flops"),
            missing="No run of an op compiled by XLA was recorded; of others no FLOPs are known.",
            record=_FLOPS,
        ),
        Need(
            met=_profile("ops.hlo_presence:has_known_flops"),
            missing="No op has known FLOPs: neither the HLO of programs nor shapes were recorded.",
            record=_FLOPS,
        ),
    ),
    "model_flops": (
        Need(
            met=_host("torch.presence:has_shaped_calls"),
            missing="No op of PyTorch's was recorded with the shapes of its inputs on a device.",
            record=_SHAPES,
        ),
    ),
    "perf_counters": (
        Need(
            met=_host("device.perf_counters:has_counter_samples"),
            missing="No hardware counter of a device was recorded.",
            record=_HARDWARE_COUNTERS,
        ),
    ),
    "utilization_viewer": (
        Need(
            met=_host("tpu.samples:has_tpu_counters"),
            missing="No hardware counter of a TPU was recorded.",
            record=_TPU_COUNTERS,
        ),
        Need(
            met=_host("tpu.samples:has_tpu_samples"),
            missing="No recorded TPU counter belongs to a unit of TPU v6e or v7x, the known chips.",
            record=_TPU_COUNTERS,
        ),
    ),
    "memory_profile": (
        Need(
            met=_host(
                "memory.allocations:has_allocations",
                "memory.programs:has_program_memory",
                "memory.samples:has_memory_samples",
            ),
            missing="No allocator reported its events, no program came with its buffer assignment, "
            "and no memory counter was sampled.",
            record=_MEMORY,
        ),
    ),
    "memory_viewer": (
        Need(
            met=_profile("hlo.programs:has_planned_programs"),
            missing="The recording holds no HLO program with a memory plan.",
            record=_COMPILED,
        ),
    ),
    "pod_viewer": (
        Need(
            met=_profile("steps.session:has_aligned_steps"),
            missing="No step was marked and none could be inferred, on any host.",
            record=_STEPS,
        ),
    ),
    "collectives": (
        Need(
            met=_host("device.events:has_collectives"),
            missing="No exchange between devices was recorded: no kernel or op of a collective "
            "ran on one.",
            record=_EXCHANGES,
        ),
    ),
    "hung_collectives": (
        Need(
            met=_plane(names.FLIGHT_PLANE),
            missing="These are not dumps of NCCL's flight recorder.",
            record=_FLIGHT_RECORDER,
        ),
    ),
    "megascale_stats": (
        Need(
            met=_profile("collectives.dcn_ops:has_host_transfers"),
            missing="No TPU in this profile sends to another slice (no host send or host recv op).",
            record=_SLICES,
        ),
        Need(
            met=_profile("collectives.dcn_ops:has_their_programs"),
            missing="TPUs exchange data through their hosts, but the compiled programs (HLO) that "
            "name the collective of an op are missing.",
            record=_SLICES,
        ),
        Need(
            met=_profile("collectives.dcn_ops:has_dcn_collectives"),
            missing="TPUs exchange data with their own hosts only, not with another slice.",
            record=_SLICES,
        ),
    ),
    "inference_profile": (
        Need(
            met=_host("serving:has_serving"),
            missing="No request of a model server was recorded: none of its run events "
            "(SessionRun, BatchingSessionRun, ProcessBatch, TfrtModelRun …) is on a host thread.",
            record=_SERVER,
        ),
    ),
    "serving_steps": (
        Need(
            met=_host("torch.serving_steps:has_serving_steps"),
            missing="No step of vLLM or SGLang was recorded.",
            record=_ENGINE,
        ),
    ),
    "graph_viewer": (
        Need(
            met=_profile("hlo.programs:has_programs"),
            missing="The recording holds no HLO program.",
            record=_COMPILED,
        ),
    ),
}
