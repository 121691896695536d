/** Links from one tool's page to another's. */

import type { ToolInfo } from "../../api/types.gen.ts";

export type Params = Readonly<Record<string, string>>;

export interface PageLink {
  readonly href: string;
  readonly title: string;
  readonly tables: ToolInfo["tables"];
  /** What its times can be of, first what they are of by themselves. */
  readonly timesOf: ToolInfo["times_of"];
}

export interface PageFor {
  /** Another tool's page for the same run and host; null when it has nothing to show. */
  (tool: string, params?: Params): PageLink | null;
  /** What a tool's page is called, whether or not it has anything to show; null for no tool. */
  readonly titleOf: (tool: string) => string | null;
}
