/** Links from one tool's page to another's. */

import type { ToolInfo } from "../../api/types.gen.ts";

export type Params = Readonly<Record<string, string>>;

export interface PageLink {
  readonly href: string;
  readonly title: string;
  readonly tables: ToolInfo["tables"];
}

/** Another tool's page for the same run and host; null when it has nothing to show. */
export type PageFor = (tool: string, params?: Params) => PageLink | null;
