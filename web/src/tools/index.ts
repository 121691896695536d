/** Tools that have a page of their own; every other tool is shown by the generic one. */

import type { ComponentType } from "preact";
import { Baseline } from "./compare/baseline.tsx";
import { Compare } from "./compare/page.tsx";
import { DeviceIdle } from "./device_idle/page.tsx";
import { Generic } from "./generic/page.tsx";
import { GraphViewer } from "./graph_viewer/page.tsx";
import { HostActivity } from "./host_activity/page.tsx";
import { InferenceProfile } from "./inference_profile/page.tsx";
import { InputPipeline } from "./input_pipeline_analyzer/page.tsx";
import { MemoryProfile } from "./memory_profile/page.tsx";
import { MemoryViewer } from "./memory_viewer/page.tsx";
import { Overview } from "./overview_page/page.tsx";
import { WholePod } from "./pod/page.tsx";
import { PodViewer } from "./pod_viewer/page.tsx";
import { RooflineModel } from "./roofline_model/page.tsx";
import type { RecoverProps, ToolPage } from "./sections/tool_page.tsx";
import { StepAccount } from "./step_account/page.tsx";
import { TfData } from "./tf_data_bottleneck_analysis/page.tsx";
import { UtilizationViewer } from "./utilization_viewer/page.tsx";
import { Work } from "./work_table/page.tsx";

export interface PageEntry {
  readonly Page: ToolPage;
  /** Options that the page asks for itself, in a better way than a form would. */
  readonly owns?: readonly string[];
  /** What stays where there is no result: the way to another one. */
  readonly Recover?: ComponentType<RecoverProps>;
}

const PAGES: Readonly<Record<string, PageEntry>> = {
  overview_page: { Page: Overview, owns: ["batch_size"] },
  input_pipeline_analyzer: { Page: InputPipeline },
  tf_data_bottleneck_analysis: { Page: TfData, owns: ["graph_host", "pipeline", "rank"] },
  device_idle: { Page: DeviceIdle },
  host_activity: { Page: HostActivity },
  work_table: { Page: Work, owns: ["within"] },
  roofline_model: { Page: RooflineModel },
  inference_profile: { Page: InferenceProfile, owns: ["model"] },
  pod: { Page: WholePod },
  pod_viewer: { Page: PodViewer, owns: ["step"] },
  graph_viewer: { Page: GraphViewer, owns: ["program", "node", "radius", "max_nodes"] },
  step_account: { Page: StepAccount },
  memory_viewer: { Page: MemoryViewer, owns: ["program", "memory_space"] },
  utilization_viewer: { Page: UtilizationViewer },
  compare: {
    Page: Compare,
    owns: ["baseline", "between", "starts", "baseline_starts"],
    Recover: Baseline,
  },
  memory_profile: {
    Page: MemoryProfile,
    owns: ["memory", "points", "from_ms", "to_ms", "at_ms", "by"],
  },
};

export function pageOf(tool: string): PageEntry {
  return PAGES[tool] ?? { Page: Generic };
}
