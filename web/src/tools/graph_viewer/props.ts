/** What this page is given. */

import type { GraphViewer } from "../../api/types.gen.ts";
import { duration } from "../../base/format.ts";
import type { ToolPageProps } from "../sections/tool_page.tsx";

export type GraphProps = ToolPageProps<GraphViewer>;

/** The address with another instruction or computation in the middle. */
export function goTo({ params, onParams }: GraphProps, node: string): void {
  onParams({ ...params, node });
}

export function timeText(us: number | null | undefined): string {
  return us == null ? "time not recorded" : duration(us, "µs");
}
