/** Which chart the answer to a query allows: bars of names, or values over a rising column. */

import {
  type Column,
  type NumberColumn,
  type Table,
  type TextColumn,
  wordAt,
} from "../table/table.ts";

export interface BarsOf {
  readonly form: "bars";
  readonly label: TextColumn;
  readonly value: NumberColumn;
}

export interface LinesOf {
  readonly form: "lines";
  readonly x: NumberColumn;
  /** Columns of one unit, which share an axis. */
  readonly ys: readonly NumberColumn[];
}

const MOST_LINES = 6;
const SIZES: readonly string[] = ["time", "bytes"];

export function answerChart(table: Table): BarsOf | LinesOf | null {
  if (table.rows < 2) return null;
  const numbers = table.columns.filter(
    (column) => column.type === "number" && column.available > 0,
  );
  const [x, ...others] = numbers as NumberColumn[];
  if (x && table.columns[0] === x && rises(x.values)) {
    const unit = others[0]?.meta.unit;
    const ys = others.filter((column) => column.meta.unit === unit).slice(0, MOST_LINES);
    return ys.length > 0 ? { form: "lines", x, ys } : null;
  }
  const label = table.columns.find(tellsRowsApart);
  const value = (numbers.find((column) => SIZES.includes(column.meta.kind)) ?? x) as
    | NumberColumn
    | undefined;
  if (label?.type !== "text" || !value) return null;
  return { form: "bars", label, value };
}

/** Whether the first rows, which the bars are of, all have another word in this column. */
function tellsRowsApart(column: Column): boolean {
  if (column.type !== "text") return false;
  const first = Math.min(column.codes.length, MOST_BARS);
  const words = new Set(Array.from({ length: first }, (_, row) => wordAt(column, row)));
  return words.size === first;
}

export const MOST_BARS = 20;

function rises(values: Float64Array): boolean {
  return values.every((value, i) => i === 0 || value >= (values[i - 1] as number));
}
