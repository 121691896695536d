"""The results that rules read. Generated: python -m generate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

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

    def __init__(self, found: Mapping[str, Result]) -> None:
        self._found = found
        self.optional = OptionalResults(found)

    @property
    def overview_page(self) -> OverviewPage:
        """Of overview_page."""
        return cast("OverviewPage", self._found["overview_page"])

    @property
    def startup(self) -> Startup:
        """Of startup."""
        return cast("Startup", self._found["startup"])

    @property
    def step_log(self) -> StepLog:
        """Of step_log."""
        return cast("StepLog", self._found["step_log"])

    @property
    def input_pipeline_analyzer(self) -> InputPipelineAnalyzer:
        """Of input_pipeline_analyzer."""
        return cast("InputPipelineAnalyzer", self._found["input_pipeline_analyzer"])

    @property
    def tf_data_bottleneck_analysis(self) -> TfDataBottleneckAnalysis:
        """Of tf_data_bottleneck_analysis."""
        return cast("TfDataBottleneckAnalysis", self._found["tf_data_bottleneck_analysis"])

    @property
    def framework_op_stats(self) -> FrameworkOpStats:
        """Of framework_op_stats."""
        return cast("FrameworkOpStats", self._found["framework_op_stats"])

    @property
    def trace_viewer(self) -> TraceViewer:
        """Of trace_viewer."""
        return cast("TraceViewer", self._found["trace_viewer"])

    @property
    def kernel_stats(self) -> KernelStats:
        """Of kernel_stats."""
        return cast("KernelStats", self._found["kernel_stats"])

    @property
    def device_idle(self) -> DeviceIdle:
        """Of device_idle."""
        return cast("DeviceIdle", self._found["device_idle"])

    @property
    def step_account(self) -> StepAccount:
        """Of step_account."""
        return cast("StepAccount", self._found["step_account"])

    @property
    def host_activity(self) -> HostActivity:
        """Of host_activity."""
        return cast("HostActivity", self._found["host_activity"])

    @property
    def module_tree(self) -> ModuleTree:
        """Of module_tree."""
        return cast("ModuleTree", self._found["module_tree"])

    @property
    def compiled_regions(self) -> CompiledRegions:
        """Of compiled_regions."""
        return cast("CompiledRegions", self._found["compiled_regions"])

    @property
    def op_profile(self) -> OpProfile:
        """Of op_profile."""
        return cast("OpProfile", self._found["op_profile"])

    @property
    def hlo_stats(self) -> HloStats:
        """Of hlo_stats."""
        return cast("HloStats", self._found["hlo_stats"])

    @property
    def roofline_model(self) -> RooflineModel:
        """Of roofline_model."""
        return cast("RooflineModel", self._found["roofline_model"])

    @property
    def model_flops(self) -> ModelFlops:
        """Of model_flops."""
        return cast("ModelFlops", self._found["model_flops"])

    @property
    def perf_counters(self) -> PerfCounters:
        """Of perf_counters."""
        return cast("PerfCounters", self._found["perf_counters"])

    @property
    def utilization_viewer(self) -> UtilizationViewer:
        """Of utilization_viewer."""
        return cast("UtilizationViewer", self._found["utilization_viewer"])

    @property
    def memory_profile(self) -> MemoryProfile:
        """Of memory_profile."""
        return cast("MemoryProfile", self._found["memory_profile"])

    @property
    def memory_viewer(self) -> MemoryViewer:
        """Of memory_viewer."""
        return cast("MemoryViewer", self._found["memory_viewer"])

    @property
    def pod_viewer(self) -> PodViewer:
        """Of pod_viewer."""
        return cast("PodViewer", self._found["pod_viewer"])

    @property
    def collectives(self) -> Collectives:
        """Of collectives."""
        return cast("Collectives", self._found["collectives"])

    @property
    def hung_collectives(self) -> HungCollectives:
        """Of hung_collectives."""
        return cast("HungCollectives", self._found["hung_collectives"])

    @property
    def megascale_stats(self) -> MegascaleStats:
        """Of megascale_stats."""
        return cast("MegascaleStats", self._found["megascale_stats"])

    @property
    def inference_profile(self) -> InferenceProfile:
        """Of inference_profile."""
        return cast("InferenceProfile", self._found["inference_profile"])

    @property
    def serving_steps(self) -> ServingSteps:
        """Of serving_steps."""
        return cast("ServingSteps", self._found["serving_steps"])

    @property
    def graph_viewer(self) -> GraphViewer:
        """Of graph_viewer."""
        return cast("GraphViewer", self._found["graph_viewer"])

    @property
    def pod(self) -> Pod:
        """Of pod."""
        return cast("Pod", self._found["pod"])


class OptionalResults:
    """The results that a rule may read, by tool; None where the recording has none."""

    __slots__ = ("_found",)

    def __init__(self, found: Mapping[str, Result]) -> None:
        self._found = found

    @property
    def overview_page(self) -> OverviewPage | None:
        """Of overview_page."""
        return cast("OverviewPage | None", self._found.get("overview_page"))

    @property
    def startup(self) -> Startup | None:
        """Of startup."""
        return cast("Startup | None", self._found.get("startup"))

    @property
    def step_log(self) -> StepLog | None:
        """Of step_log."""
        return cast("StepLog | None", self._found.get("step_log"))

    @property
    def input_pipeline_analyzer(self) -> InputPipelineAnalyzer | None:
        """Of input_pipeline_analyzer."""
        return cast("InputPipelineAnalyzer | None", self._found.get("input_pipeline_analyzer"))

    @property
    def tf_data_bottleneck_analysis(self) -> TfDataBottleneckAnalysis | None:
        """Of tf_data_bottleneck_analysis."""
        return cast(
            "TfDataBottleneckAnalysis | None", self._found.get("tf_data_bottleneck_analysis")
        )

    @property
    def framework_op_stats(self) -> FrameworkOpStats | None:
        """Of framework_op_stats."""
        return cast("FrameworkOpStats | None", self._found.get("framework_op_stats"))

    @property
    def trace_viewer(self) -> TraceViewer | None:
        """Of trace_viewer."""
        return cast("TraceViewer | None", self._found.get("trace_viewer"))

    @property
    def kernel_stats(self) -> KernelStats | None:
        """Of kernel_stats."""
        return cast("KernelStats | None", self._found.get("kernel_stats"))

    @property
    def device_idle(self) -> DeviceIdle | None:
        """Of device_idle."""
        return cast("DeviceIdle | None", self._found.get("device_idle"))

    @property
    def step_account(self) -> StepAccount | None:
        """Of step_account."""
        return cast("StepAccount | None", self._found.get("step_account"))

    @property
    def host_activity(self) -> HostActivity | None:
        """Of host_activity."""
        return cast("HostActivity | None", self._found.get("host_activity"))

    @property
    def module_tree(self) -> ModuleTree | None:
        """Of module_tree."""
        return cast("ModuleTree | None", self._found.get("module_tree"))

    @property
    def compiled_regions(self) -> CompiledRegions | None:
        """Of compiled_regions."""
        return cast("CompiledRegions | None", self._found.get("compiled_regions"))

    @property
    def op_profile(self) -> OpProfile | None:
        """Of op_profile."""
        return cast("OpProfile | None", self._found.get("op_profile"))

    @property
    def hlo_stats(self) -> HloStats | None:
        """Of hlo_stats."""
        return cast("HloStats | None", self._found.get("hlo_stats"))

    @property
    def roofline_model(self) -> RooflineModel | None:
        """Of roofline_model."""
        return cast("RooflineModel | None", self._found.get("roofline_model"))

    @property
    def model_flops(self) -> ModelFlops | None:
        """Of model_flops."""
        return cast("ModelFlops | None", self._found.get("model_flops"))

    @property
    def perf_counters(self) -> PerfCounters | None:
        """Of perf_counters."""
        return cast("PerfCounters | None", self._found.get("perf_counters"))

    @property
    def utilization_viewer(self) -> UtilizationViewer | None:
        """Of utilization_viewer."""
        return cast("UtilizationViewer | None", self._found.get("utilization_viewer"))

    @property
    def memory_profile(self) -> MemoryProfile | None:
        """Of memory_profile."""
        return cast("MemoryProfile | None", self._found.get("memory_profile"))

    @property
    def memory_viewer(self) -> MemoryViewer | None:
        """Of memory_viewer."""
        return cast("MemoryViewer | None", self._found.get("memory_viewer"))

    @property
    def pod_viewer(self) -> PodViewer | None:
        """Of pod_viewer."""
        return cast("PodViewer | None", self._found.get("pod_viewer"))

    @property
    def collectives(self) -> Collectives | None:
        """Of collectives."""
        return cast("Collectives | None", self._found.get("collectives"))

    @property
    def hung_collectives(self) -> HungCollectives | None:
        """Of hung_collectives."""
        return cast("HungCollectives | None", self._found.get("hung_collectives"))

    @property
    def megascale_stats(self) -> MegascaleStats | None:
        """Of megascale_stats."""
        return cast("MegascaleStats | None", self._found.get("megascale_stats"))

    @property
    def inference_profile(self) -> InferenceProfile | None:
        """Of inference_profile."""
        return cast("InferenceProfile | None", self._found.get("inference_profile"))

    @property
    def serving_steps(self) -> ServingSteps | None:
        """Of serving_steps."""
        return cast("ServingSteps | None", self._found.get("serving_steps"))

    @property
    def graph_viewer(self) -> GraphViewer | None:
        """Of graph_viewer."""
        return cast("GraphViewer | None", self._found.get("graph_viewer"))

    @property
    def pod(self) -> Pod | None:
        """Of pod."""
        return cast("Pod | None", self._found.get("pod"))
