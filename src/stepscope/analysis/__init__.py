"""One file per tool; ``TOOLS`` is the one ordered list every surface is derived from."""

from __future__ import annotations

from stepscope.registry import Tools

# A tool's id is the name of its file. The order here is the order in every menu. A file is
# imported when its tool is first asked for, so that `show` pays for one tool and not for all.
TOOLS = Tools(
    __name__,
    (
        "overview_page",
        "startup",
        "step_log",
        "input_pipeline_analyzer",
        "tf_data_bottleneck_analysis",
        "work_table",
        "framework_op_stats",
        "trace_viewer",
        "kernel_stats",
        "device_idle",
        "step_account",
        "host_activity",
        "module_tree",
        "compiled_regions",
        "op_profile",
        "hlo_stats",
        "roofline_model",
        "model_flops",
        "perf_counters",
        "utilization_viewer",
        "memory_profile",
        "memory_viewer",
        "pod_viewer",
        "collectives",
        "hung_collectives",
        "megascale_stats",
        "inference_profile",
        "serving_steps",
        "graph_viewer",
    ),
)
