/** What a declared part of a page is given, and what it takes from the result. */

import type { ToolInfo } from "../../api/types.gen.ts";
import { type ColumnarTable, isColumnarTable } from "../../base/columns.ts";
import type { ValueOf } from "../../engine/page/template.ts";
import type { ToolPageProps } from "../sections/tool_page.tsx";

export type Panel = ToolInfo["page"][number];

export interface PanelProps<P extends Panel = Panel> extends ToolPageProps {
  readonly panel: P;
  readonly values: ValueOf;
}

export type Records = readonly Readonly<Record<string, unknown>>[];

/** A field that holds records. */
export function recordsAt(values: ValueOf, field: string): Records {
  const found = values(field);
  return Array.isArray(found) ? (found as Records) : [];
}

/** A field as a table, be it one or a list of records; undefined if it holds neither. */
export function tableAt(values: ValueOf, field: string): ColumnarTable | undefined {
  const found = values(field);
  if (isColumnarTable(found)) return found;
  if (!Array.isArray(found)) return undefined;
  const records = recordsAt(values, field);
  const names = Object.keys(records[0] ?? {});
  const columns = names.map((name) => [name, records.map((record) => record[name])]);
  return { rows: records.length, columns: Object.fromEntries(columns) };
}

/** Median time of the steps that count, from three of them on. */
export function medianOf({ columns }: ColumnarTable): number | null {
  const { step_time_ms: times = [], kept = [] } = columns;
  const counted = times.filter(
    (time, row): time is number => typeof time === "number" && kept[row] !== false,
  );
  counted.sort((a, b) => a - b);
  return counted.length > 2 ? (counted[counted.length >> 1] ?? null) : null;
}

/** A heading, and why nothing is under it. */
export function Unfilled({ title, none }: { title: string; none: string }) {
  if (!none) return null;
  return (
    <section>
      <h2>{title}</h2>
      <p class="quiet">{none}</p>
    </section>
  );
}
