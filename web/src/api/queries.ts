/** SQL: the tables there are, the answer to a query, and its files. */

import { apiUrl, type ExportFormat, getJson } from "./client.ts";
import type { QueryInfo, QueryLanesInfo, QueryTablesInfo } from "./types.gen.ts";

/** Which recording is asked, and which part of it: run, host, steps, range, device. */
export type QueryScope = Readonly<Record<string, string>>;

export function getQueryTables(signal: AbortSignal): Promise<QueryTablesInfo> {
  return getJson(apiUrl("sql/tables"), signal);
}

export function getQueryAnswer(
  scope: QueryScope,
  q: string,
  signal: AbortSignal,
): Promise<QueryInfo> {
  return getJson(apiUrl("sql", { ...scope, q }), signal);
}

/** The answer to a query as a track of the timeline. */
export function getQueryLanes(
  scope: { readonly run: string; readonly host: string },
  q: string,
  signal: AbortSignal,
): Promise<QueryLanesInfo> {
  return getJson(apiUrl("sql/lanes", { run: scope.run, host: scope.host, q }), signal);
}

/** URL of an answer as a file to download. */
export function queryFileUrl(scope: QueryScope, q: string, format: ExportFormat): string {
  return apiUrl(`sql.${format}`, { ...scope, q });
}
