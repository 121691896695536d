"""One typed method per tool. Generated: python -m generate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from typing import Literal

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
    from stepscope.analysis.work_table import WorkTable
    from stepscope.result import Result


class ToolMethods(ABC):
    """The tools as methods."""

    @abstractmethod
    def run(self, tool: str, **options: Any) -> Result:
        """Run a tool by id."""

    def overview_page(
        self,
        *,
        batch_size: int | None = None,
    ) -> OverviewPage:
        """What limits this run, where an average step goes, and the ops that take the time.

        Args:
            batch_size: Examples per step, if neither input nor shapes contain it.
        """
        return cast(
            "OverviewPage",
            self.run(
                "overview_page",
                batch_size=batch_size,
            ),
        )

    def startup(self) -> Startup:
        """Account of the time from exec to the first step and to steady steps."""
        return cast("Startup", self.run("startup"))

    def step_log(self) -> StepLog:
        """Every step of the whole run, and the steps at which the step time changed."""
        return cast("StepLog", self.run("step_log"))

    def input_pipeline_analyzer(
        self,
        *,
        instances: Literal["separate", "merged"] = "separate",
    ) -> InputPipelineAnalyzer:
        """How much of the step waits for input, and where the host spends the time to bring it.

        Args:
            instances: Repeated or interleaved instances of one iterator: separate rows, or merged.
        """
        return cast(
            "InputPipelineAnalyzer",
            self.run(
                "input_pipeline_analyzer",
                instances=instances,
            ),
        )

    def tf_data_bottleneck_analysis(
        self,
        *,
        graph_host: str = "",
        pipeline: str = "",
        rank: int = -1,
    ) -> TfDataBottleneckAnalysis:
        """Which tf.data stage is the bottleneck, and what changing it gains.

        Args:
            graph_host: Host of the graph; by default the most input-bound.
            pipeline: Pipeline of the graph, e.g. "Host:0".
            rank: Call of the graph, 0 the slowest; -1 the mean of all calls.
        """
        return cast(
            "TfDataBottleneckAnalysis",
            self.run(
                "tf_data_bottleneck_analysis",
                graph_host=graph_host,
                pipeline=pipeline,
                rank=rank,
            ),
        )

    def work_table(
        self,
        *,
        group_by: Literal[
            "type", "family", "op", "kernel", "layer", "module", "line", "stream", "device"
        ] = "type",
        where: Literal["both", "host", "device"] = "both",
        within: str = "",
    ) -> WorkTable:
        """Where the time of all work goes: by op, type, kernel, module, line, stream or device.

        Args:
            group_by: A layer has all modules whose names differ only in a number.
            where: Work of the host, the devices or both.
            within: Only the work of one group, by its kind and name: type=Cast, line=train.py:31 f
        """
        return cast(
            "WorkTable",
            self.run(
                "work_table",
                group_by=group_by,
                where=where,
                within=within,
            ),
        )

    def framework_op_stats(
        self,
        *,
        group_by: Literal["op", "type"] = "op",
        where: Literal["both", "host", "device"] = "both",
        include_idle: bool = False,
    ) -> FrameworkOpStats:
        """Every framework op with its self and total time, on the host and on the device.

        Args:
            group_by: Rows: one per op, or one per op type.
            where: Ops of the host, the device or both.
            include_idle: Add a row for idle time and count it in the shares.
        """
        return cast(
            "FrameworkOpStats",
            self.run(
                "framework_op_stats",
                group_by=group_by,
                where=where,
                include_idle=include_idle,
            ),
        )

    def trace_viewer(
        self,
        *,
        from_: str = "",
        to: str = "",
        track: str = "",
        find: str = "",
        mode: Literal["substring", "regex"] = "substring",
        stat: str = "",
    ) -> TraceViewer:
        """What ran when, on every thread and device: tracks, top events, matches, launch delays.

        Args:
            from_: Begin of the range: 1.5s, 20ms, 7us, or a number of ms; the trace's begin.
            to: End of the range, as in --from; by default the trace's end.
            track: Only tracks whose section or name contains this text.
            find: List the events whose name (or stat) matches this text.
            mode: How to read the text to find.
            stat: Look for the text in the values of this stat, not in names.
        """
        return cast(
            "TraceViewer",
            self.run(
                "trace_viewer",
                from_=from_,
                to=to,
                track=track,
                find=find,
                mode=mode,
                stat=stat,
            ),
        )

    def kernel_stats(
        self,
        *,
        group_by: Literal["kernel", "op", "class", "name"] = "kernel",
    ) -> KernelStats:
        """Every GPU kernel with its launch, the op that launched it, and its times.

        Args:
            group_by: One row per kernel, launch and op (kernel), per op, class or kernel name.
        """
        return cast(
            "KernelStats",
            self.run(
                "kernel_stats",
                group_by=group_by,
            ),
        )

    def device_idle(
        self,
        *,
        min_gap_us: float = 10.0,
    ) -> DeviceIdle:
        """Why devices have nothing to do, cause by cause, and what is copied in a step.

        Args:
            min_gap_us: List gaps at least this long; shorter ones still count in the causes.
        """
        return cast(
            "DeviceIdle",
            self.run(
                "device_idle",
                min_gap_us=min_gap_us,
            ),
        )

    def step_account(self) -> StepAccount:
        """Where the step goes: every moment of it, by line, library call, op or wait."""
        return cast("StepAccount", self.run("step_account"))

    def host_activity(self) -> HostActivity:
        """What the host does in a step while nothing computes: building functions, printing, Python."""
        return cast("HostActivity", self.run("host_activity"))

    def module_tree(self) -> ModuleTree:
        """The modules of a PyTorch model as a tree, with their time on host and device."""
        return cast("ModuleTree", self.run("module_tree"))

    def compiled_regions(self) -> CompiledRegions:
        """Regions of torch.compile, graph breaks, Triton kernels, and replays of CUDA graphs."""
        return cast("CompiledRegions", self.run("compiled_regions"))

    def op_profile(
        self,
        *,
        group_by: Literal["program", "category", "provenance"] = "program",
        include_idle: bool = True,
        show_fused: bool = False,
    ) -> OpProfile:
        """Where the device's time goes as a tree, and how well each part uses the device.

        Args:
            group_by: First level: programs, kinds of op, or the scopes of the model.
            include_idle: Add the time in which the devices ran nothing.
            show_fused: Show the instructions inside of fusions; no time is known for them.
        """
        return cast(
            "OpProfile",
            self.run(
                "op_profile",
                group_by=group_by,
                include_idle=include_idle,
                show_fused=show_fused,
            ),
        )

    def hlo_stats(self) -> HloStats:
        """Every HLO op with its time, FLOP rate, bandwidth and what bounds it."""
        return cast("HloStats", self.run("hlo_stats"))

    def roofline_model(
        self,
        *,
        include_infeed_outfeed: bool = True,
        peak_gflops: float | None = None,
        peak_hbm_gbps: float | None = None,
    ) -> RooflineModel:
        """How close each op, and the whole program, comes to the device's roofline.

        Args:
            include_infeed_outfeed: Count ops that feed data in or out, and their time.
            peak_gflops: Peak FLOP rate of one device in GFLOP/s, if unknown.
            peak_hbm_gbps: Peak memory bandwidth of one device in GB/s; from its name by default.
        """
        return cast(
            "RooflineModel",
            self.run(
                "roofline_model",
                include_infeed_outfeed=include_infeed_outfeed,
                peak_gflops=peak_gflops,
                peak_hbm_gbps=peak_hbm_gbps,
            ),
        )

    def model_flops(
        self,
        *,
        peak_tflops: str = "",
        peak_memory_gbps: float | None = None,
    ) -> ModelFlops:
        """FLOPs and bytes of PyTorch's ops by shape, and the model FLOP utilisation (MFU).

        Args:
            peak_tflops: Peaks of one device by type in TFLOP/s, before the table's: bf16=989,fp32=67.
            peak_memory_gbps: Peak memory bandwidth of one device in GB/s; from its name by default.
        """
        return cast(
            "ModelFlops",
            self.run(
                "model_flops",
                peak_tflops=peak_tflops,
                peak_memory_gbps=peak_memory_gbps,
            ),
        )

    def perf_counters(
        self,
        *,
        chip: str = "",
        counter_set: str = "",
        counter: str = "",
        max_samples: int = 100000,
    ) -> PerfCounters:
        """What the hardware counters of GPUs and TPUs counted: each counter, and each sample of it.

        Args:
            chip: Only this chip, or device: "3", "TPU:0"; empty for all.
            counter_set: Only counters of this set; empty for all.
            counter: Only counters whose name contains this text, in any case; empty for all.
            max_samples: List at most this many samples, the earliest; 0 for all. Totals are over all.
        """
        return cast(
            "PerfCounters",
            self.run(
                "perf_counters",
                chip=chip,
                counter_set=counter_set,
                counter=counter,
                max_samples=max_samples,
            ),
        )

    def utilization_viewer(
        self,
        *,
        absent_is_zero: bool = False,
    ) -> UtilizationViewer:
        """What each unit of a TPU chip achieved against its peak, by the chip's own counters.

        Args:
            absent_is_zero: Count counters that were not recorded as 0, as XProf does.
        """
        return cast(
            "UtilizationViewer",
            self.run(
                "utilization_viewer",
                absent_is_zero=absent_is_zero,
            ),
        )

    def memory_profile(
        self,
        *,
        memory: str = "",
        points: int = 2000,
        from_ms: float | None = None,
        to_ms: float | None = None,
        at_ms: float | None = None,
        by: Literal["op", "region", "type", "module", "line"] = "op",
    ) -> MemoryProfile:
        """Use of each memory over time, its peak, and which ops held the bytes at the peak.

        Args:
            memory: Only this memory (its id); empty for all.
            points: Points per memory, most where its use changes: highest and last of each; 0: all.
            from_ms: Begin of the timeline; the first event if absent.
            to_ms: End of the timeline; the last event if absent.
            at_ms: List memory held at this moment instead of at the peak.
            by: How to group holders: by op (as one over layers that repeat), the region, the data type, PyTorch's module or the name scope, or the line of the program.
        """
        return cast(
            "MemoryProfile",
            self.run(
                "memory_profile",
                memory=memory,
                points=points,
                from_ms=from_ms,
                to_ms=to_ms,
                at_ms=at_ms,
                by=by,
            ),
        )

    def memory_viewer(
        self,
        *,
        program: str = "",
        memory_space: int = 0,
    ) -> MemoryViewer:
        """Memory of one compiled program over time, its peak, and the buffers live then.

        Args:
            program: Program: "jit_step(12)", its name or its id. Default: the one that allocates most.
            memory_space: Memory space: 0 device memory, 1 fast on-chip memory, 5 host memory.
        """
        return cast(
            "MemoryViewer",
            self.run(
                "memory_viewer",
                program=program,
                memory_space=memory_space,
            ),
        )

    def pod_viewer(
        self,
        *,
        step: int = -1,
    ) -> PodViewer:
        """Where each step goes on every worker, and which worker the others wait for.

        Args:
            step: Only this step (its place in step_nums, from 0); -1 all steps.
        """
        return cast(
            "PodViewer",
            self.run(
                "pod_viewer",
                step=step,
            ),
        )

    def collectives(self) -> Collectives:
        """What devices exchange with each other: waiting, transfer, bandwidth, and who comes last."""
        return cast("Collectives", self.run("collectives"))

    def hung_collectives(self) -> HungCollectives:
        """Which rank a hung job waits for: missing, differing and late calls of collectives."""
        return cast("HungCollectives", self.run("hung_collectives"))

    def megascale_stats(self) -> MegascaleStats:
        """Cost of exchanging data with other TPU slices, collective by collective."""
        return cast("MegascaleStats", self.run("megascale_stats"))

    def inference_profile(
        self,
        *,
        model: str = "",
    ) -> InferenceProfile:
        """Latency of a model server's requests, by model, and the time and size of its batches.

        Args:
            model: Only this model; empty for all.
        """
        return cast(
            "InferenceProfile",
            self.run(
                "inference_profile",
                model=model,
            ),
        )

    def serving_steps(self) -> ServingSteps:
        """Steps of an engine that serves language models, by kind and batch size."""
        return cast("ServingSteps", self.run("serving_steps"))

    def graph_viewer(
        self,
        *,
        program: str = "",
        node: str = "",
        radius: int = 3,
        max_nodes: int = 2000,
    ) -> GraphViewer:
        """Part of a compiled program as a graph, and the names of all its instructions.

        Args:
            program: Program: "jit_step(12)", its name or its id. Default: the one that ran longest.
            node: Instruction to centre on, or computation. Default: the slowest op.
            radius: How many edges from the instruction to show.
            max_nodes: Show at most this many instructions.
        """
        return cast(
            "GraphViewer",
            self.run(
                "graph_viewer",
                program=program,
                node=node,
                radius=radius,
                max_nodes=max_nodes,
            ),
        )
