"""What is known of rules unimported. Generated: python -m stepscope.surfaces.generate."""

from __future__ import annotations

from stepscope.registry import RuleFacts

FACTS = (
    RuleFacts(
        "input-bound",
        title="The step waits for input",
        needs=("overview_page",),
        symptom_of=("host-copies",),
    ),
    RuleFacts(
        "serial-map",
        title="A map on one thread",
        needs=(
            "overview_page",
            "tf_data_bottleneck_analysis",
        ),
        cause_of=(
            "input-bound",
            "uneven-steps",
        ),
    ),
    RuleFacts(
        "missing-prefetch",
        title="Nothing is prefetched",
        needs=(
            "overview_page",
            "tf_data_bottleneck_analysis",
        ),
        cause_of=(
            "input-bound",
            "uneven-steps",
        ),
    ),
    RuleFacts(
        "no-cache",
        title="The same elements made again",
        needs=(
            "overview_page",
            "tf_data_bottleneck_analysis",
        ),
        cause_of=(
            "input-bound",
            "uneven-steps",
        ),
    ),
    RuleFacts(
        "no-interleave",
        title="Files read one by one",
        needs=(
            "overview_page",
            "tf_data_bottleneck_analysis",
        ),
        cause_of=(
            "input-bound",
            "uneven-steps",
        ),
    ),
    RuleFacts(
        "python-in-pipeline",
        title="Python makes the elements",
        needs=(
            "overview_page",
            "tf_data_bottleneck_analysis",
        ),
        optional=("host_activity",),
        cause_of=(
            "input-bound",
            "uneven-steps",
        ),
    ),
    RuleFacts(
        "batch-after-map",
        title="Cheap calls for single elements",
        needs=(
            "overview_page",
            "tf_data_bottleneck_analysis",
        ),
        cause_of=(
            "input-bound",
            "uneven-steps",
        ),
    ),
    RuleFacts(
        "file-reads",
        title="A file opened per element",
        needs=(
            "overview_page",
            "tf_data_bottleneck_analysis",
        ),
        cause_of=(
            "input-bound",
            "uneven-steps",
        ),
    ),
    RuleFacts(
        "late-shard",
        title="Sharded after the work",
        needs=(
            "overview_page",
            "tf_data_bottleneck_analysis",
        ),
        cause_of=(
            "input-bound",
            "uneven-steps",
        ),
    ),
    RuleFacts(
        "few-input-threads",
        title="Too few input threads",
        needs=(
            "overview_page",
            "tf_data_bottleneck_analysis",
        ),
        cause_of=(
            "input-bound",
            "uneven-steps",
        ),
    ),
    RuleFacts(
        "host-input-limit",
        title="The host is the limit of input",
        needs=(
            "overview_page",
            "tf_data_bottleneck_analysis",
        ),
        cause_of=(
            "input-bound",
            "uneven-steps",
        ),
    ),
    RuleFacts(
        "launch-bound",
        title="The device waits for launches",
        needs=("overview_page",),
        symptom_of=(
            "allocation-stalls",
            "tiny-kernels",
            "slow-launches",
            "small-batch",
            "host-waits",
            "eager-execution",
        ),
    ),
    RuleFacts(
        "tiny-kernels",
        title="Kernels shorter than their launch",
        needs=(
            "overview_page",
            "kernel_stats",
        ),
        optional=("device_idle",),
        symptom_of=(
            "small-batch",
            "eager-execution",
        ),
    ),
    RuleFacts(
        "slow-launches",
        title="Launches take long",
        needs=(
            "overview_page",
            "device_idle",
        ),
        optional=("input_pipeline_analyzer",),
        symptom_of=("eager-execution",),
    ),
    RuleFacts(
        "host-waits",
        title="Host and device take turns",
        needs=(
            "overview_page",
            "device_idle",
        ),
    ),
    RuleFacts(
        "allocation-stalls",
        title="Memory is allocated within the step",
        needs=(
            "overview_page",
            "device_idle",
        ),
        symptom_of=(
            "memory-fragmentation",
            "memory-near-limit",
        ),
    ),
    RuleFacts(
        "host-copies",
        title="The step waits for copies",
        needs=(
            "overview_page",
            "device_idle",
        ),
        optional=(
            "hlo_stats",
            "memory_profile",
        ),
    ),
    RuleFacts(
        "device-copies",
        title="Devices copy instead of compute",
        needs=("overview_page",),
        optional=("hlo_stats",),
    ),
    RuleFacts(
        "idle-device",
        title="The device idles",
        needs=(
            "overview_page",
            "device_idle",
        ),
        symptom_of=(
            "input-bound",
            "launch-bound",
            "tiny-kernels",
            "slow-launches",
            "allocation-stalls",
            "host-waits",
            "host-copies",
            "python-bound",
            "print-every-step",
            "retracing",
            "recompilation",
            "unbalanced-devices",
            "straggler",
            "eager-execution",
            "small-batch",
        ),
    ),
    RuleFacts(
        "full-precision",
        title="Compute in 32 bits on 16-bit hardware",
        needs=("overview_page",),
        optional=("kernel_stats",),
    ),
    RuleFacts(
        "tensor-cores-unused",
        title="Tensor cores could be used and are not",
        needs=(
            "overview_page",
            "kernel_stats",
        ),
    ),
    RuleFacts(
        "layout-transposes",
        title="Layouts change around convolutions",
        needs=(
            "overview_page",
            "kernel_stats",
        ),
    ),
    RuleFacts(
        "roofline-gap",
        title="Ops far below their roofline",
        needs=(
            "overview_page",
            "roofline_model",
        ),
        symptom_of=(
            "full-precision",
            "tensor-cores-unused",
            "layout-transposes",
            "tiny-kernels",
            "small-batch",
        ),
    ),
    RuleFacts(
        "dominant-op",
        title="One op dominates",
        needs=(
            "overview_page",
            "framework_op_stats",
        ),
        symptom_of=(
            "full-precision",
            "tensor-cores-unused",
            "layout-transposes",
            "roofline-gap",
            "device-copies",
            "input-bound",
            "launch-bound",
            "host-copies",
            "host-waits",
            "collective-bound",
            "exposed-collectives",
            "straggler",
            "unbalanced-devices",
            "eager-execution",
        ),
    ),
    RuleFacts(
        "small-batch",
        title="A small batch on a free device",
        needs=(
            "overview_page",
            "device_idle",
            "memory_profile",
        ),
        symptom_of=(
            "slow-launches",
            "host-waits",
            "eager-execution",
        ),
    ),
    RuleFacts(
        "memory-near-limit",
        title="Memory nearly full",
        needs=("memory_profile",),
        symptom_of=("memory-fragmentation",),
    ),
    RuleFacts(
        "memory-fragmentation",
        title="Free memory in pieces",
        needs=("memory_profile",),
    ),
    RuleFacts(
        "collective-bound",
        title="The network limits the step",
        needs=(
            "overview_page",
            "pod_viewer",
        ),
    ),
    RuleFacts(
        "exposed-collectives",
        title="Communication does not overlap with compute",
        needs=(
            "overview_page",
            "pod_viewer",
        ),
    ),
    RuleFacts(
        "unbalanced-devices",
        title="Devices do unequal work",
        needs=(
            "overview_page",
            "pod_viewer",
        ),
        optional=("kernel_stats",),
    ),
    RuleFacts(
        "straggler",
        title="One worker makes all others wait",
        needs=("pod_viewer",),
        symptom_of=("unbalanced-devices",),
    ),
    RuleFacts(
        "worker-skew",
        title="Workers wait for each other",
        needs=("pod_viewer",),
        symptom_of=(
            "straggler",
            "unbalanced-devices",
            "tiny-kernels",
            "launch-bound",
        ),
    ),
    RuleFacts(
        "eager-execution",
        title="Ops run one by one",
        needs=("overview_page",),
        optional=("host_activity",),
        symptom_of=(
            "retracing",
            "recompilation",
            "print-every-step",
            "python-in-pipeline",
        ),
    ),
    RuleFacts(
        "retracing",
        title="Functions are traced again",
        needs=("host_activity",),
    ),
    RuleFacts(
        "recompilation",
        title="Programs are compiled again",
        needs=(
            "overview_page",
            "host_activity",
        ),
        symptom_of=("retracing",),
    ),
    RuleFacts(
        "python-bound",
        title="Python holds the step up",
        needs=(
            "overview_page",
            "host_activity",
        ),
        symptom_of=(
            "retracing",
            "recompilation",
            "print-every-step",
            "python-in-pipeline",
        ),
    ),
    RuleFacts(
        "print-every-step",
        title="Printing or logging in every step",
        needs=("host_activity",),
    ),
    RuleFacts(
        "no-xla",
        title="Elementwise ops are not fused",
        needs=(
            "overview_page",
            "framework_op_stats",
        ),
        optional=("tf_data_bottleneck_analysis",),
    ),
    RuleFacts(
        "slow-steps",
        title="Checkpoints or logging make some steps slow",
        needs=(
            "overview_page",
            "host_activity",
        ),
    ),
    RuleFacts(
        "uneven-steps",
        title="A few steps are much slower",
        needs=("overview_page",),
        symptom_of=(
            "slow-steps",
            "retracing",
            "recompilation",
            "eager-execution",
            "python-bound",
            "print-every-step",
            "no-xla",
        ),
    ),
    RuleFacts(
        "incomplete-profile",
        title="The recording is not whole",
        needs=("overview_page",),
    ),
)
