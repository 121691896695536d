/** Descriptions of columns as the server gives them, made safe to rely on. */

import {
  type AnyTable,
  type ColumnarTable,
  type ColumnMeta,
  KINDS,
  type Kind,
} from "../base/columns.ts";
import { visible } from "../base/text.ts";
import type { ColumnInfo, ResultBody } from "./types.gen.ts";

/**
 * A kind that this page does not know yet is shown as text.
 *
 * @param timesOf what the times of the result are of: columns are called accordingly
 */
export function columnMetas(
  infos: readonly ColumnInfo[],
  timesOf: ResultBody["times_of"] = "",
): ColumnMeta[] {
  const whole = timesOf === "recording";
  return infos.map((info) => ({
    ...info,
    label: whole ? info.whole_label : info.label,
    help: whole ? info.whole_help : info.help,
    kind: (KINDS as readonly string[]).includes(info.kind) ? (info.kind as Kind) : "text",
    sort: info.sort === "asc" || info.sort === "desc" ? info.sort : "",
  }));
}

/** A table of named columns as one of columns by name. */
export function byName(table: AnyTable): ColumnarTable {
  return table as ColumnarTable;
}

/** Cells as numbers; NaN where a value is not available. */
export function numbersOf(cells: readonly (number | null)[]): Float64Array {
  return Float64Array.from(cells, (cell) => cell ?? Number.NaN);
}

/** Cells as text that cannot disturb the page; "" where a value is not available. */
export function textsOf(cells: readonly (string | null)[]): string[] {
  return cells.map((cell) => (cell === null ? "" : visible(cell)));
}

/** The rows of a table for which the test holds, as a table. */
export function rowsWhere(table: AnyTable, test: (row: number) => boolean): ColumnarTable {
  const kept: number[] = [];
  for (let row = 0; row < table.rows; row++) if (test(row)) kept.push(row);
  const columns = Object.entries(byName(table).columns).map(
    ([name, cells]) => [name, kept.map((row) => cells[row] ?? null)] as const,
  );
  return { rows: kept.length, columns: Object.fromEntries(columns) };
}

/** An answer whose coded columns are columns of cells; it is changed in place. */
export function spelledOut<T>(answer: T): T {
  if (typeof answer !== "object" || answer === null || Array.isArray(answer)) return answer;
  const { rows, columns } = answer as { rows?: unknown; columns?: Record<string, unknown> };
  if (typeof rows !== "number" || !columns) {
    for (const part of Object.values(answer)) spelledOut(part);
    return answer;
  }
  for (const [name, cells] of Object.entries(columns)) {
    if (Array.isArray(cells)) continue;
    const { values, codes } = cells as { values: unknown[]; codes: number[] };
    columns[name] = codes.map((code) => values[code]);
  }
  return answer;
}
