"""The results that rules read. Generated: python -m generate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stepscope.analysis.collectives import Collectives
    from stepscope.analysis.compiled_regions import CompiledRegions
    from stepscope.analysis.device_idle import DeviceIdle
    from stepscope.analysis.framework_op_stats import FrameworkOpStats
    from stepscope.analysis.graph_viewer import GraphViewer
    from stepscope.analysis.hlo_stats import HloStats
    from stepscope.analysis.host_activity import HostActivity
    from stepscope.analysis.hung_collectives import HungCollectives
    from stepscope.analysis.inference_profile import InferenceProfile
    from stepscope.analysis.input_pipeline_analyzer import InputPipelineAnalyzer
    from stepscope.analysis.kernel_stats import KernelStats
    from stepscope.analysis.megascale_stats import MegascaleStats
    from stepscope.analysis.memory_profile import MemoryProfile
    from stepscope.analysis.memory_viewer import MemoryViewer
    from stepscope.analysis.model_flops import ModelFlops
    from stepscope.analysis.module_tree import ModuleTree
    from stepscope.analysis.op_profile import OpProfile
    from stepscope.analysis.overview_page import OverviewPage
    from stepscope.analysis.perf_counters import PerfCounters
    from stepscope.analysis.pod_viewer import PodViewer
    from stepscope.analysis.roofline_model import RooflineModel
    from stepscope.analysis.serving_steps import ServingSteps
    from stepscope.analysis.startup import Startup
    from stepscope.analysis.step_account import StepAccount
    from stepscope.analysis.step_log import StepLog
    from stepscope.analysis.tf_data_bottleneck_analysis import TfDataBottleneckAnalysis
    from stepscope.analysis.trace_viewer import TraceViewer
    from stepscope.analysis.utilization_viewer import UtilizationViewer
    from stepscope.pod.report import Pod
    from stepscope.result import Result


class Results:
    """The results that a rule needs, by tool; ``optional`` has those that may be missing."""

    __slots__ = ("_found", "optional")
    overview_page: OverviewPage
    startup: Startup
    step_log: StepLog
    input_pipeline_analyzer: InputPipelineAnalyzer
    tf_data_bottleneck_analysis: TfDataBottleneckAnalysis
    framework_op_stats: FrameworkOpStats
    trace_viewer: TraceViewer
    kernel_stats: KernelStats
    device_idle: DeviceIdle
    step_account: StepAccount
    host_activity: HostActivity
    module_tree: ModuleTree
    compiled_regions: CompiledRegions
    op_profile: OpProfile
    hlo_stats: HloStats
    roofline_model: RooflineModel
    model_flops: ModelFlops
    perf_counters: PerfCounters
    utilization_viewer: UtilizationViewer
    memory_profile: MemoryProfile
    memory_viewer: MemoryViewer
    pod_viewer: PodViewer
    collectives: Collectives
    hung_collectives: HungCollectives
    megascale_stats: MegascaleStats
    inference_profile: InferenceProfile
    serving_steps: ServingSteps
    graph_viewer: GraphViewer
    pod: Pod

    def __init__(self, found: Mapping[str, Result]) -> None:
        self._found = found
        self.optional = OptionalResults(found)

    if not TYPE_CHECKING:

        def __getattr__(self, tool: str) -> Result:
            return self._found[tool]


class OptionalResults:
    """The results that a rule may read, by tool; None where the recording has none."""

    __slots__ = ("_found",)
    overview_page: OverviewPage | None
    startup: Startup | None
    step_log: StepLog | None
    input_pipeline_analyzer: InputPipelineAnalyzer | None
    tf_data_bottleneck_analysis: TfDataBottleneckAnalysis | None
    framework_op_stats: FrameworkOpStats | None
    trace_viewer: TraceViewer | None
    kernel_stats: KernelStats | None
    device_idle: DeviceIdle | None
    step_account: StepAccount | None
    host_activity: HostActivity | None
    module_tree: ModuleTree | None
    compiled_regions: CompiledRegions | None
    op_profile: OpProfile | None
    hlo_stats: HloStats | None
    roofline_model: RooflineModel | None
    model_flops: ModelFlops | None
    perf_counters: PerfCounters | None
    utilization_viewer: UtilizationViewer | None
    memory_profile: MemoryProfile | None
    memory_viewer: MemoryViewer | None
    pod_viewer: PodViewer | None
    collectives: Collectives | None
    hung_collectives: HungCollectives | None
    megascale_stats: MegascaleStats | None
    inference_profile: InferenceProfile | None
    serving_steps: ServingSteps | None
    graph_viewer: GraphViewer | None
    pod: Pod | None

    def __init__(self, found: Mapping[str, Result]) -> None:
        self._found = found

    if not TYPE_CHECKING:

        def __getattr__(self, tool: str) -> Result | None:
            return self._found.get(tool)
