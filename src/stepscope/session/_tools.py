"""One typed method per tool. Generated: python -m stepscope.surfaces.generate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from typing import Literal

    from stepscope.analysis.framework_op_stats import FrameworkOpStats
    from stepscope.analysis.input_pipeline_analyzer import InputPipelineAnalyzer
    from stepscope.analysis.kernel_stats import KernelStats
    from stepscope.analysis.overview_page import OverviewPage
    from stepscope.result import Result


class ToolMethods(ABC):
    """The tools as methods."""

    @abstractmethod
    def run(self, tool: str, **options: Any) -> Result:
        """Run a tool by id."""

    def overview_page(self) -> OverviewPage:
        """What limits this run, where an average step goes, and the ops that take the time."""
        return cast("OverviewPage", self.run("overview_page"))

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

    def kernel_stats(
        self,
        *,
        group_by: Literal["kernel", "op", "class", "name"] = "kernel",
        device: str = "",
    ) -> KernelStats:
        """Every GPU kernel with its launch, the op that launched it, and its times.

        Args:
            group_by: Rows: one per kernel, launch and op; per op; per class; or per kernel name.
            device: Only this device, e.g. "GPU:0"; empty for all.
        """
        return cast(
            "KernelStats",
            self.run(
                "kernel_stats",
                group_by=group_by,
                device=device,
            ),
        )
