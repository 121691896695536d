"""Names that recorders write into planes, lines and stats, old spellings beside new ones.

These strings are facts of the XSpace format (TensorFlow, JAX, PJRT and the ROCm and CUPTI
collectors write them); what only one file looks for may be in that file.
"""

from __future__ import annotations

from typing import Final

# --- planes -----------------------------------------------------------------------------
HOST_PLANE: Final = "/host:CPU"
METADATA_PLANE: Final = "/host:metadata"
ENVIRONMENT_PLANE: Final = "Task Environment"
GPU_PLANE: Final = "/device:GPU:"
TPU_PLANE: Final = "/device:TPU:"
CUSTOM_PLANE: Final = "/device:CUSTOM:"
# Planes of our own recorders. Other viewers show custom planes; to us they are not devices.
PYTHON_SAMPLES_PLANE: Final = "/device:CUSTOM:Python samples"
PYTHON_CALLS_PLANE: Final = "/device:CUSTOM:Python calls"
# Events of categories that a reader does not know, and marks of recorders.
OTHER_EVENTS_PLANE: Final = "/device:CUSTOM:Other events"
# Calls of collectives from a dump of NCCL's flight recorder: one line a process group, instants.
FLIGHT_PLANE: Final = "/device:CUSTOM:Flight recorder"
# Who ran, by the sampler's looks: one line a thread, with the slices IN_PYTHON and OUTSIDE_PYTHON.
PYTHON_THREADS_PLANE: Final = "/device:CUSTOM:Python threads"
# Collections of garbage, one line a thread: events COLLECTION + " " + generation.
GARBAGE_PLANE: Final = "/device:CUSTOM:Garbage collection"
# The same of programs that are not Python's.
STACK_SAMPLES_PLANE: Final = "/device:CUSTOM:Stack samples"
PYTHON_PLANES: Final = (
    PYTHON_SAMPLES_PLANE,
    STACK_SAMPLES_PLANE,
    PYTHON_CALLS_PLANE,
    PYTHON_THREADS_PLANE,
    GARBAGE_PLANE,
)
TELEMETRY_PLANE: Final = "/device:CUSTOM:Telemetry"
# Every step of a run, from a step log: one line a process, an event for a step or for some that
# were put together, with the stats STEP_LOG_*.
STEP_LOG_PLANE: Final = "/device:CUSTOM:Step log"
STEP_LOG_HEAD: Final = b'{"stepscope_steps":1,"crc":'
# A program's start, from exec to steady steps, as its main thread saw it.
START_PLANE: Final = "/device:CUSTOM:Start"
# What the recorder itself did: its line of gaps has an event for each time that a recorder saw
# nothing, with the stats GAP_RECORDER and GAP_REASON.
RECORDING_PLANE: Final = "Stepscope recording"
# Before what a profiler did on a thread of the program; no profiler writes it, readers do.
RECORDER_OVERHEAD: Final = "Profiler: "
# After what a launch does for the first time (it loads the kernel): Nsight Systems' words.
LOADED_BY_CUDA: Final = " (CUDA)"
SPARSE_CORE_MARK: Final = "SparseCore"
# Planes that older or interrupted captures leave unmerged beside /host:CPU.
RAW_HOST_PLANES: Final = (
    "/host:CUPTI",
    "/host:NVTX-CUPTI",
    "/host:ROCTRACER",
    "/host:TPU-runtime",
    "/host:python-tracer",
)

# --- lines ------------------------------------------------------------------------------
STEPS_LINES: Final = ("Steps", "Sparse Core Steps")
NAME_SCOPE_LINES: Final = ("Framework Name Scope", "TensorFlow Name Scope")
FRAMEWORK_OPS_LINES: Final = ("Framework Ops", "TensorFlow Ops")
XLA_MODULES_LINES: Final = ("XLA Modules", "Sparse Core Modules")
XLA_OPS_LINES: Final = ("XLA Ops", "Sparse Core Ops")
ASYNC_OPS_LINES: Final = ("Async XLA Ops",)
SOURCE_LINES: Final = ("Source code", "Source")
LAUNCH_STATS_LINES: Final = ("Launch Stats",)
# What a stream waits for, beside what it runs.
WAIT_LINES: Final = ("Synchronization",)
COUNTER_LINE: Final = "_counters_"
GAPS_LINE: Final = "not recorded"
# On the recorder's plane, too: when the line of the loop that reads results had its result.
READS_LINE: Final = "reads of results"
# Lines of a start: spans of known work, looks at the main thread, and the first steps.
START_SPANS_LINE: Final = "start"
START_LOOKS_LINE: Final = "main thread"
START_STEPS_LINE: Final = "first steps"
# Thread ids of lines that a viewer derived from others start here (stored as int32 in old files).
DERIVED_LINE_ID: Final = 0xDEADBEEF
DERIVED_LINE_COUNT: Final = 4096
# Host threads on which tf.data runs beside the training step, by the start of their name.
TF_DATA_THREADS: Final = ("tf_data_", "tf_data")

# --- stats ------------------------------------------------------------------------------
STEP_NUM: Final = "step_num"
ROOT_LEVEL: Final = "_r"
GROUP_ID: Final = "group_id"
STEP_NAME: Final = "step_name"
GRAPH_TYPE: Final = "graph_type"
IS_EAGER: Final = "is_eager"
IS_FUNC: Final = "is_func"
# Of a call of a tf.function: how it ran ("traced-nonXla", "notTraced-xla", "eager" …), and how
# many concrete functions there were.
TF_FUNCTION_CALL: Final = "tf_function_call"
TRACING_COUNT: Final = "tracing_count"
CORRELATION_ID: Final = "correlation_id"
# Context that one thread hands to another: (type, id) of the producer and of the consumer.
PRODUCER_TYPE: Final = "_pt"
PRODUCER_ID: Final = "_p"
CONSUMER_TYPE: Final = "_ct"
CONSUMER_ID: Final = "_c"
# Direction (2 bits, 1 in, 2 out), id (56 bits) and category (6 bits) in one number.
FLOW: Final = "flow"
DEVICE_ID: Final = "device_id"
# Of a TPU's plane: the chip's number among all chips of the session.
GLOBAL_CHIP_ID: Final = "global_chip_id"
TF_OP: Final = "tf_op"
# GPU kernels of TF before 2.5 carry "<op name>:<type>#key=value…" here instead of in tf_op.
ANNOTATION: Final = "annotation"
HLO_OP: Final = "hlo_op"
HLO_MODULE: Final = "hlo_module"
PROGRAM_ID: Final = "program_id"
# One execution of an XLA program; its ops and its module share it.
RUN_ID: Final = "run_id"
HLO_PROTO: Final = "Hlo Proto"
# The HLO metadata's op_name, as ROCm captures attach it to kernels.
XLA_OP_NAME: Final = "name"
SHAPE: Final = "shape"
# Of an iterator of tf.data: shapes and types of the components of its elements.
ELEMENT_SHAPES: Final = "shapes"
ELEMENT_TYPES: Final = "types"
KERNEL_DETAILS: Final = "kernel_details"
MEMCPY_DETAILS: Final = "memcpy_details"
# Of a device event of a PyTorch recording that no op launched: why, in words.
LAUNCH_ORIGIN: Final = "launch_origin"
# These words. Two of them stand for what no change of the program's ops would change.
OUTSIDE_OPS: Final = "Launched outside of any op"
BEFORE_RECORDING: Final = "Launched before the recording"
FROM_GRAPH: Final = "Replayed from a graph"
NO_LAUNCH: Final = "Launch not recorded"
# What PyTorch's compiler writes, in the folder of its cache or by the name it gives such a file.
INDUCTOR_FILE: Final = r"torchinductor|[/\\]c[a-z2-7]{50,52}\.py$"
# What holds memory that was taken before an allocator's history begins; its line is not known.
ALLOCATED_BEFORE: Final = "Allocated before the recording"
# What a PyTorch recording says of an event beyond its other stats: a JSON object.
ARGUMENTS: Final = "args"
SEQUENCE_NUMBER: Final = "sequence_number"
# Of a collective in a PyTorch recording: the how-manieth of its communicator.
COLLECTIVE_NUMBER: Final = "Seq"
# Of a message, in its arguments: the global rank of the other side.
SOURCE_RANK: Final = "Src Rank"
TARGET_RANK: Final = "Dst Rank"
GRAPH_NODE: Final = "graph_node_id"
PYTHON_ID: Final = "python_id"
PYTHON_PARENT_ID: Final = "python_parent_id"
HLO_CATEGORY: Final = "hlo_category"
DEVICE_OFFSET_PS: Final = "device_offset_ps"
DEVICE_DURATION_PS: Final = "device_duration_ps"
FLOPS: Final = "flops"
MODEL_FLOPS: Final = "model_flops"
BYTES_ACCESSED: Final = "bytes_accessed"
# Bytes by direction and memory space: a serialised tensorflow.profiler breakdown message.
MEMORY_BREAKDOWN: Final = "memory_access_breakdown"
DMA_STALL_PS: Final = "dma_stall_duration_ps"
# Of a transfer to another TPU slice: a serialised tensorflow.profiler.DcnCollectiveInfoProto.
DCN_COLLECTIVE_INFO: Final = "dcn_collective_info"
# Of a message from another slice: who sent it to whom, its size and how long it was under way.
DCN_SOURCE_SLICE: Final = "dcn_source_slice_id"
DCN_DESTINATION_SLICE: Final = "dcn_destination_slice_id"
PAYLOAD_BYTES: Final = "payload_size_bytes"
MESSAGE_DURATION_US: Final = "duration_us"
DEDUPLICATED_NAME: Final = "deduplicated_name"
SOURCE: Final = "source"
SOURCE_STACK: Final = "source_stack"
# The stage of a PyTorch loader that has no worker processes.
LONELY_LOADER: Final = "DataLoader without workers"
INPUT_STAGE_ID: Final = "_ipl_stage_id"
INPUT_STAGE_NAME: Final = "_ipl_stage_name"
INPUT_STAGE_CATEGORY: Final = "_ipl_stage_cat"
# Of the environment's plane: a setting of a framework that is not at its default, and among them
# the data type of the model's parameters.
SETTING: Final = "setting_"
PARAMETERS: Final = "parameters"
KERAS_POLICY: Final = "keras_dtype_policy"
TORCH_THREADS: Final = "torch_threads"
#: Types that PyTorch's products have no fast code for on this CPU.
TORCH_EMULATES: Final = "torch_emulates"
# Of the same plane: which lines of the program made the ops of TensorFlow's graphs.
GRAPH_LINES: Final = "graph_lines"
PROFILE_START: Final = "profile_start_time"
PROFILE_STOP: Final = "profile_stop_time"
# Of a call of a collective in a dump of the flight recorder, beside COLLECTIVE_NUMBER: its process
# group by name, purpose and ranks ("0-3,8"), what the group did of it, and what went in.
PROCESS_GROUP: Final = "process_group"
GROUP_DESCRIPTION: Final = "group_description"
GROUP_RANKS: Final = "group_ranks"
CALL_STATE: Final = "call_state"
MESSAGE_SIZES: Final = "message_sizes"
MESSAGE_TYPES: Final = "message_types"
ELEMENTS: Final = "elements"
IS_P2P: Final = "is_p2p"
KERNEL_US: Final = "kernel_us"
# Of the host's plane of another tool's recording: which tool's, and what such files cannot hold.
IMPORTED: Final = "_imported"
# The framework that wrote a host's recording, where no event tells it.
WRITTEN_BY: Final = "_written_by"
#: On a host's plane: ranges without another meaning are those that the program names.
PROGRAM_RANGES: Final = "_program_ranges"
# Of a host whose ops have names of ops: others are ranges of the program, or calls of a driver.
NAMED_OPS: Final = "_named_ops"
# What the recorder was asked for, serialised (schema/xspace.py).
PROFILE_OPTIONS: Final = "profile_options"
DROPPED_TRACES: Final = "dropped_traces"
COUNTER_VALUE: Final = "counter_value"
# Of the events of a TPU's hardware counter, or of their metadata: its number in the hardware.
COUNTER_ID: Final = "performance_counter_id"
# Of the events of a device's hardware counter, or of their metadata.
COUNTER_DESCRIPTION: Final = "performance_counter_description"
COUNTER_SETS: Final = "performance_counter_sets"
# Of a device's plane: how many samples were not numbers and left out, in words; once a counter.
NAN_COUNTER_EVENTS: Final = "nan_counter_events"
# Of a gap of the recording: the recorder that saw nothing ("tensorflow", "torch" …), and why:
# GAP_CHUNK (it handed over what it had), GAP_PAUSE (the program ran a profiler of its own) or
# GAP_REST (the program ran undisturbed, to keep within the price of the recording).
GAP_RECORDER: Final = "recorder"
GAP_REASON: Final = "reason"
# Whether a gap began as the loop marked its next step: the step before it is whole.
GAP_AT_STEP: Final = "at_step"
GAP_CHUNK: Final = "a chunk is written"
GAP_PAUSE: Final = "the program records itself"
GAP_REST: Final = "the program runs undisturbed"
# Of a short session within a rest: executions are numbered, and counted from one such to the next.
GAP_PROBE: Final = "executions are counted"
# Of the task environment: the median step while nothing recorded and how many were timed, what they
# were known by, and the median recorded step as timed in the same way. Times are in ps.
UNDISTURBED_STEP: Final = "undisturbed_step_ps"
UNDISTURBED_STEPS: Final = "undisturbed_steps"
# Events of a step log have a number of steps, their time, the longest one, their wait for input and
# the memory of the process. Names of noted values follow STEP_LOG_VALUE.
STEP_LOG_STEPS: Final = "log_steps"
STEP_LOG_SUM: Final = "log_sum_us"
STEP_LOG_MAX: Final = "log_max_us"
STEP_LOG_WAIT: Final = "log_wait_us"
STEP_LOG_MEMORY: Final = "log_memory_bytes"
STEP_LOG_VALUE: Final = "log value: "
# Of the first step of a chunk: readings of devices follow this, energy (J) since the chunk before.
STEP_LOG_DEVICE: Final = "log device: "
STEP_LOG_ENERGY_END: Final = " energy"
STEP_LOG_THROTTLED_END: Final = " throttled"
# Names of values that are read; the writer keeps fewer.
STEP_LOG_MOST_NAMES: Final = 100
# Events of a start have a kind of work (``START_KINDS``), a line of the program, bytes read and the
# result of a cache ("hit", "miss"). Looks at the main thread also have their processor time, time
# in the processor's queue and reason to wait (``START_WAITS``).
START_KIND: Final = "start_kind"
START_PLACE: Final = "start_place"
START_BYTES: Final = "start_bytes"
START_CACHE: Final = "start_cache"
START_CPU: Final = "start_cpu_ns"
START_QUEUE: Final = "start_queue_ns"
START_WAIT: Final = "start_wait"
START_KINDS: Final = (
    "interpreter", "recorder", "import", "device", "tracing", "compilation", "autotuning",
    "reading", "look-up", "processes", "program",
)  # fmt: skip
# A step in which this was done is no steady one.
START_COMPILES: Final = ("tracing", "compilation", "autotuning")
# Steady steps: this number in a row; the longest is at most this multiple of the shortest.
START_STEADY_STEPS: Final = 5
START_STEADY_SPREAD: Final = 1.5
START_WAITS: Final = (
    "disk", "network", "lock", "processes", "sleep", "threads", "device", "unknown",
)  # fmt: skip
UNDISTURBED_SOURCE: Final = "undisturbed_source"
RECORDED_STEP: Final = "recorded_step_ps"
# Of the task environment: what recording took of the program's time, in millionths of it.
RECORDING_COST: Final = "recording_cost_ppm"
# Of the same: what was recorded in less detail from some time on, as a sentence.
LESS_DETAIL: Final = "_less_detail"
# Of the same: a line for each source file of the program, with its size, the hash of its content
# (``source_hash``) and its name as one imports it. Redaction removes it.
SOURCE_HASHES: Final = "_source_hashes"
# Of a step that the program did not mark itself: what of it our hooks took for one, MARKED_BATCH
# (Keras's callbacks of a batch), MARKED_OPTIMIZER (the optimizer's step of PyTorch) or
# MARKED_ENGINE (that of vLLM or SGLang).
MARKED_BY: Final = "_marked_by"
MARKED_BATCH: Final = "batch"
MARKED_OPTIMIZER: Final = "optimizer"
MARKED_ENGINE: Final = "engine"
# Of a slice of a thread: processor time it used meanwhile.
CPU_NS: Final = "cpu_ns"
# Of the first sample of a thread: what the system's thread library calls it, which C++ makes its
# number of.
THREAD_IDENT: Final = "pthread"
# Of a collection of garbage: its generation (2 is the oldest) and how many objects it freed.
GC_GENERATION: Final = "generation"
GC_COLLECTED: Final = "collected"
# Of the events of a counter: what its values are in ("%", "bytes", "W" …).
COUNTER_UNIT: Final = "unit"

# --- stats of MemoryAllocation and MemoryDeallocation ---------------------------------------
ALLOCATOR_NAME: Final = "allocator_name"
# TPU allocators have no name: the device's number on its host stands for them.
DEVICE_ORDINAL: Final = "device_ordinal"
INDEX_ON_HOST: Final = "index_on_host"
BYTES_RESERVED: Final = "bytes_reserved"
BYTES_ALLOCATED: Final = "bytes_allocated"
BYTES_AVAILABLE: Final = "bytes_available"
FRAGMENTATION: Final = "fragmentation"
PEAK_BYTES_IN_USE: Final = "peak_bytes_in_use"
REQUESTED_BYTES: Final = "requested_bytes"
ALLOCATION_BYTES: Final = "allocation_bytes"
ADDRESS: Final = "addr"
REGION_TYPE: Final = "region_type"
DATA_TYPE: Final = "data_type"

# --- stats and events of model servers --------------------------------------------------------
MODEL_ID: Final = "model_id"
# Of a tf.data stage that batches.
BATCH_SIZE: Final = "batch_size"
BATCH_SIZE_AFTER_PADDING: Final = "batch_size_after_padding"
PADDING_AMOUNT: Final = "padding_amount"
BATCHING_INPUT_TASK_SIZE: Final = "batching_input_task_size"
# What a server does for one caller, and for the callers it put together.
REQUEST_EVENTS: Final = (
    "BatchingSessionRun",
    "BrainSessionRun",
    "SessionRun",
    "TfrtModelRun",
    "ServingModelRun",
)
BATCH_EVENTS: Final = ("ProcessBatch", "OrbaxServing::ProcessBatch")
# Context types of the batch schedulers: shared, adaptive shared, JAX serving.
BATCHING_CONTEXTS: Final = (4, 6, 16)

# --- host events ------------------------------------------------------------------------
# TensorFlow 2.2 called every mark the same; its kind is in a stat.
TRACE_CONTEXT: Final = "TraceContext"
STEP_MARKER_NAMES: Final = ("train", "test", "predict", TRACE_CONTEXT)
PYTORCH_STEP: Final = "ProfilerStep#"
KERAS_BATCH: Final = "Profiled batch"
# What a PyTorch optimizer marks around its update, and around setting gradients to zero.
PYTORCH_OPTIMIZER: Final = ("Optimizer.step#", "Optimizer.zero_grad#")
EAGER_EXECUTE: Final = "EagerExecute"
# Ops of TensorFlow that call a function of Python.
PYTHON_OPS: Final = ("PyFunc", "EagerPyFunc", "PyFuncStateless")
# A compiled function of TensorFlow as the eager runtime calls it, and as the executor runs it.
EAGER_FUNCTIONS: Final = (
    "EagerLocalExecute: __inference_",
    "EagerLocalExecute: __forward_",
    "EagerLocalExecute: __backward_",
)
EAGER_LOCAL_EXECUTE: Final = "EagerLocalExecute: "
FUNCTION_RUN: Final = "FunctionRun"
EAGER_KERNEL_RUN: Final = "KernelAndDeviceFunc::Run"
RUNS_GRAPH: Final = "ExecutorState::Process"
ITERATOR_GET_NEXT: Final = "IteratorGetNext"
# Lines of nothing but those, from files of an allocator's history; the device's number follows.
MEMORY_LINE: Final = "Memory of GPU "
MEMORY_EVENTS: Final = ("MemoryAllocation", "MemoryDeallocation")
DCN_RECEIVE: Final = "MegaScale: Communication Transport Receive"
PJIT_FUNCTION: Final = "PjitFunction("
PYTHON_CALL_MARK: Final = "$"
# A call that waits for a lock, as our sampler writes it behind the mark: module and function.
LOCK_CALL: Final = "threading.Lock acquire"
# A thread of Python's, between two looks of the sampler: in Python code, which runs with the GIL
# or waits for it; or in a call of C code, which may run without it or wait for anything. CPU_NS
# says how long it ran, so the rest of IN_PYTHON is waiting for the GIL, or for a processor.
IN_PYTHON: Final = "Python code"
OUTSIDE_PYTHON: Final = "C code"
COLLECTION: Final = "garbage collection, generation"
# As PyTorch's profiler records it (record_python_gc_info), and what it becomes.
PYTORCH_COLLECTION: Final = "Python GC"
UNTOLD_COLLECTION: Final = COLLECTION + " not told"

# --- categories and attributes of HLO instructions -------------------------------------------
# A TPU reaches other slices, and its own host's memory, by handing buffers to its host.
HOST_TRANSFER_CATEGORIES: Final = ("host send", "host recv")
RENDEZVOUS: Final = "_xla_host_transfer_rendezvous"
HOST_TRANSFER_HANDLER: Final = "_xla_host_transfer_handler_name"
# The handler that carries buffers to other slices.
MEGASCALE_HANDLER: Final = "xla_megascale_runtime"
MEGASCALE_TRANSFER_TYPE: Final = "_xla_megascale_transfer_type"
