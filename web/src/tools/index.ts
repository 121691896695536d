/** Tools that have a page of their own; every other tool is shown by the generic one. */

import { Generic } from "./generic.tsx";
import { OpStats } from "./op_stats.tsx";
import { Overview } from "./overview.tsx";
import type { ToolPage } from "./page.ts";

const PAGES: Readonly<Record<string, ToolPage>> = {
  overview_page: Overview,
  framework_op_stats: OpStats,
};

export function pageOf(tool: string): ToolPage {
  return PAGES[tool] ?? Generic;
}
