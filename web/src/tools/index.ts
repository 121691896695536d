/** Tools with a page of their own, and charts of declared pages; all else is generic. */

import { type ComponentType, createElement } from "preact";
import type { ToolInfo } from "../api/types.gen.ts";
import { Baseline } from "./compare/baseline.tsx";
import { Compare } from "./compare/page.tsx";
import { type Charts, Declared } from "./generic/declared.tsx";
import { Generic } from "./generic/page.tsx";
import { GraphViewer } from "./graph_viewer/page.tsx";
import { Stacks } from "./host_activity/stacks.tsx";
import { MemoryProfile } from "./memory_profile/page.tsx";
import { Overview } from "./overview_page/page.tsx";
import { PodAxes } from "./pod/axes.tsx";
import { StepCost } from "./pod/cost.tsx";
import { DeviceMap } from "./pod/map.tsx";
import { Ribbon } from "./pod/ribbon.tsx";
import { Suspects } from "./pod/suspects.tsx";
import { PodStep } from "./pod_viewer/step.tsx";
import { Roofline } from "./roofline_model/chart.tsx";
import type { RecoverProps, ToolPage, ToolPageProps } from "./sections/tool_page.tsx";
import { TfDataGraph } from "./tf_data_bottleneck_analysis/graph.tsx";
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
  work_table: { Page: Work, owns: ["within"] },
  graph_viewer: { Page: GraphViewer, owns: ["program", "node", "radius", "max_nodes"] },
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

const CHARTS: Charts = {
  host_stacks: Stacks,
  pipeline_graph: TfDataGraph,
  pod_axes: PodAxes,
  pod_cost: StepCost,
  pod_map: DeviceMap,
  pod_ribbon: Ribbon,
  pod_step: PodStep,
  pod_suspects: Suspects,
  roofline: Roofline,
};

/** Options that these charts ask for. */
const OF_CHARTS: Readonly<Record<string, readonly string[]>> = {
  pipeline_graph: ["graph_host", "pipeline", "rank"],
  pod_step: ["step"],
};

const DeclaredPage: ToolPage = (props: ToolPageProps) =>
  createElement(Declared, { ...props, charts: CHARTS });

export function pageOf({ id, page }: Pick<ToolInfo, "id" | "page">): PageEntry {
  const own = PAGES[id];
  if (own || page.length === 0) return own ?? { Page: Generic };
  const owns = page.flatMap((panel) =>
    panel.form === "picker" ? panel.option : (OF_CHARTS[panel.form] ?? []),
  );
  return { Page: DeclaredPage, owns };
}
