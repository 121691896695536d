"""The results that rules read. Generated: python -m generate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stepscope.analysis.collectives import Collectives
    from stepscope.analysis.compiled_regions import CompiledRegions
    from stepscope.analysis.device_idle import DeviceIdle
    from stepscope.analysis.framework_op_stats import FrameworkOpStats
    from stepscope.analysis.hlo_stats import HloStats
    from stepscope.analysis.host_activity import HostActivity
    from stepscope.analysis.hung_collectives import HungCollectives
    from stepscope.analysis.input_pipeline_analyzer import InputPipelineAnalyzer
    from stepscope.analysis.kernel_stats import KernelStats
    from stepscope.analysis.memory_profile import MemoryProfile
    from stepscope.analysis.model_flops import ModelFlops
    from stepscope.analysis.overview_page import OverviewPage
    from stepscope.analysis.pod_viewer import PodViewer
    from stepscope.analysis.roofline_model import RooflineModel
    from stepscope.analysis.startup import Startup
    from stepscope.analysis.step_account import StepAccount
    from stepscope.analysis.tf_data_bottleneck_analysis import TfDataBottleneckAnalysis
    from stepscope.pod.report import Pod
    from stepscope.result import Result


class Results:
    """The results that a rule needs, by tool; ``optional`` has those that may be missing."""

    __slots__ = ("found", "optional")
    compiled_regions: CompiledRegions
    device_idle: DeviceIdle
    framework_op_stats: FrameworkOpStats
    host_activity: HostActivity
    hung_collectives: HungCollectives
    input_pipeline_analyzer: InputPipelineAnalyzer
    kernel_stats: KernelStats
    memory_profile: MemoryProfile
    model_flops: ModelFlops
    overview_page: OverviewPage
    pod: Pod
    pod_viewer: PodViewer
    roofline_model: RooflineModel
    startup: Startup
    step_account: StepAccount
    tf_data_bottleneck_analysis: TfDataBottleneckAnalysis

    def __init__(self, found: Mapping[str, Result]) -> None:
        self.found = found
        self.optional = OptionalResults(found)

    if not TYPE_CHECKING:

        def __getattr__(self, tool: str) -> Result:
            return self.found[tool]


class OptionalResults:
    """The results that a rule may read, by tool; None where the recording has none."""

    __slots__ = ("found",)
    collectives: Collectives | None
    compiled_regions: CompiledRegions | None
    device_idle: DeviceIdle | None
    framework_op_stats: FrameworkOpStats | None
    hlo_stats: HloStats | None
    host_activity: HostActivity | None
    input_pipeline_analyzer: InputPipelineAnalyzer | None
    kernel_stats: KernelStats | None
    memory_profile: MemoryProfile | None
    overview_page: OverviewPage | None
    pod: Pod | None
    pod_viewer: PodViewer | None
    step_account: StepAccount | None
    tf_data_bottleneck_analysis: TfDataBottleneckAnalysis | None

    def __init__(self, found: Mapping[str, Result]) -> None:
        self.found = found

    if not TYPE_CHECKING:

        def __getattr__(self, tool: str) -> Result | None:
            return self.found.get(tool)
