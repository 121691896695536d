/** Where a piece of evidence is to be seen: parameters of its page. */

import { withSubParams } from "../address.ts";
import { escapedPattern } from "../exact_pattern.ts";
import { spanParams } from "../timeline/links.ts";

export interface EvidenceLike {
  readonly tool: string;
  /** A table, a column of it, a condition on one, or a field of the result. */
  readonly what: string;
  /** Rows by name. */
  readonly rows: readonly string[];
  readonly from_ms: number | null;
  readonly to_ms: number | null;
  /** Options of the page with which it shows the rows. */
  readonly options?: Readonly<Record<string, string>>;
  /** The details of its row open, so that the page is about the same thing. */
  readonly opens?: boolean;
}

/** Tables of a tool: names of columns by table, the page's main table first. */
export type TablesOfTool = Readonly<
  Record<string, readonly { readonly name: string; readonly kind: string }[]>
>;

/** Parameters that open the page of the evidence on what it is about. */
export function evidenceParams(
  evidence: EvidenceLike,
  tables: TablesOfTool,
  timesOf: readonly string[] = [],
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
  const [place = "", value] = split(evidence.what, "=");
  const column = place === name ? "" : place.slice(place.lastIndexOf(".") + 1);
  if (value !== undefined) {
    view.if = `${column}=${encodeURIComponent(value)}`;
  } else if (columns.some((one) => one.name === column && isOrdered(one.kind))) {
    view.sort = `-${column}`;
  }
  if (evidence.rows.length > 0) view.q = `/^(?:${evidence.rows.map(escapedPattern).join("|")})$/`;
  if (evidence.opens) view.row = evidence.rows[0] ?? "";
  // Findings are about what a tool shows by itself.
  return withSubParams(timesOf[0] === "recording" ? { per: "recording" } : {}, name, view);
}

/** The table that has the rows; none where the evidence is a field of the result. */
function tableOf({ what }: EvidenceLike, tables: TablesOfTool) {
  const all = Object.entries(tables);
  const [place = ""] = split(what, "=");
  return (
    all.find(([name]) => name === place || name === place.split(".")[0]) ??
    all.find(([, columns]) => columns.some(({ name }) => name === place))
  );
}

function split(text: string, mark: string): string[] {
  const at = text.indexOf(mark);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

function isOrdered(kind: string): boolean {
  return !["name", "text", "category", "flag"].includes(kind);
}
