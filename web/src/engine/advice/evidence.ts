/** Where a piece of evidence is to be seen: parameters of its page. */

import { withSubParams } from "../address.ts";
import { escapedPattern } from "../exact_pattern.ts";
import { spanParams } from "../timeline/links.ts";

export interface EvidenceLike {
  readonly tool: string;
  /** A table, a column, or a field of the result. */
  readonly what: string;
  /** Rows by name. */
  readonly rows: readonly string[];
  readonly from_ms: number | null;
  readonly to_ms: number | null;
  /** Options of the page with which it shows the rows. */
  readonly options?: Readonly<Record<string, string>>;
}

/** Tables of a tool: names of columns by table, the page's main table first. */
export type TablesOfTool = Readonly<
  Record<string, readonly { readonly name: string; readonly kind: string }[]>
>;

/** Parameters that open the page of the evidence on what it is about. */
export function evidenceParams(
  evidence: EvidenceLike,
  tables: TablesOfTool,
): Readonly<Record<string, string>> {
  const { from_ms: from, to_ms: to, options } = evidence;
  if (from !== null && to !== null && evidence.tool === "trace_viewer") {
    return spanParams([from, to], evidence.rows[0] ?? "");
  }
  const table = tableOf(evidence, tables);
  if (!table) return {};
  const [name, columns] = table;
  // With options a page is about one row: its details open, among the others.
  if (options?.group_by) return { ...options, [`${name}.row`]: evidence.rows[0] ?? "" };
  const view: Record<string, string> = {};
  const condition = /^(?:\w+\.)?(\w+)=(.+)$/.exec(evidence.what);
  if (condition && columns.some((column) => column.name === condition[1])) {
    view.if = `${condition[1]}=${encodeURIComponent(condition[2] as string)}`;
  }
  if (evidence.rows.length > 0) {
    view.q = `/${evidence.rows.map(escapedPattern).join("|")}/`;
  } else if (columns.some((column) => column.name === evidence.what && isOrdered(column.kind))) {
    view.sort = `-${evidence.what}`;
  }
  return withSubParams({}, name, view);
}

function tableOf({ what }: EvidenceLike, tables: TablesOfTool) {
  const all = Object.entries(tables);
  const column = what.replace(/=.*$/s, "");
  return (
    all.find(([name]) => name === what || name === what.split(".")[0]) ??
    all.find(([, columns]) => columns.some(({ name }) => name === column)) ??
    all[0]
  );
}

function isOrdered(kind: string): boolean {
  return !["name", "text", "category", "flag"].includes(kind);
}
