"""One file per tool; ``TOOLS`` is the one ordered list every surface is derived from."""

from __future__ import annotations

from stepscope.analysis import (
    framework_op_stats,
    graph_viewer,
    hlo_stats,
    inference_profile,
    input_pipeline_analyzer,
    kernel_stats,
    memory_profile,
    memory_viewer,
    op_profile,
    overview_page,
    pod_viewer,
    roofline_model,
    tf_data_bottleneck_analysis,
    trace_viewer,
)
from stepscope.registry import Tool

# The order here is the order in every menu.
TOOLS: tuple[Tool, ...] = (
    overview_page.TOOL,
    input_pipeline_analyzer.TOOL,
    tf_data_bottleneck_analysis.TOOL,
    framework_op_stats.TOOL,
    trace_viewer.TOOL,
    kernel_stats.TOOL,
    op_profile.TOOL,
    hlo_stats.TOOL,
    roofline_model.TOOL,
    memory_profile.TOOL,
    memory_viewer.TOOL,
    pod_viewer.TOOL,
    inference_profile.TOOL,
    graph_viewer.TOOL,
)
