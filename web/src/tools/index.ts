/** Tools that have a page of their own; every other tool is shown by the generic one. */

import { Compare } from "./compare.tsx";
import { DeviceIdle } from "./device_idle.tsx";
import { Generic } from "./generic.tsx";
import { GraphViewer } from "./graph_viewer.tsx";
import { HloStats } from "./hlo_stats.tsx";
import { HostActivity } from "./host_activity.tsx";
import { InferenceProfile } from "./inference_profile.tsx";
import { InputPipeline } from "./input_pipeline.tsx";
import { KernelStats } from "./kernel_stats.tsx";
import { MemoryProfile } from "./memory_profile.tsx";
import { MemoryViewer } from "./memory_viewer.tsx";
import { OpProfile } from "./op_profile.tsx";
import { OpStats } from "./op_stats.tsx";
import { Overview } from "./overview.tsx";
import type { ToolPage } from "./page.ts";
import { PodViewer } from "./pod_viewer.tsx";
import { RooflineModel } from "./roofline_model.tsx";
import { TfData } from "./tf_data.tsx";
import { UtilizationViewer } from "./utilization_viewer.tsx";

export interface PageEntry {
  readonly Page: ToolPage;
  /** Options that the page asks for itself, in a better way than a form would. */
  readonly owns?: readonly string[];
}

const PAGES: Readonly<Record<string, PageEntry>> = {
  overview_page: { Page: Overview },
  input_pipeline_analyzer: { Page: InputPipeline },
  tf_data_bottleneck_analysis: { Page: TfData, owns: ["host", "pipeline", "rank"] },
  device_idle: { Page: DeviceIdle },
  host_activity: { Page: HostActivity },
  framework_op_stats: { Page: OpStats },
  kernel_stats: { Page: KernelStats, owns: ["group_by", "device"] },
  roofline_model: { Page: RooflineModel },
  op_profile: { Page: OpProfile },
  inference_profile: { Page: InferenceProfile, owns: ["model"] },
  pod_viewer: { Page: PodViewer, owns: ["step"] },
  graph_viewer: { Page: GraphViewer, owns: ["program", "node", "radius", "max_nodes"] },
  hlo_stats: { Page: HloStats },
  memory_viewer: { Page: MemoryViewer, owns: ["program", "memory_space"] },
  utilization_viewer: { Page: UtilizationViewer },
  compare: { Page: Compare, owns: ["baseline", "between"] },
  memory_profile: { Page: MemoryProfile, owns: ["memory", "points", "from_ms", "to_ms"] },
};

export function pageOf(tool: string): PageEntry {
  return PAGES[tool] ?? { Page: Generic };
}
