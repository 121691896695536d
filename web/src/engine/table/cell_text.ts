/** Cells of a table as text: on the page, and for other programs. */

import { aligned, bytes, count, fixed, MISSING, percent } from "../../base/format.ts";
import { type Column, type NumberColumn, sumOf, wordAt } from "./table.ts";

/** The cell as shown in its column; the unit is in the heading, except for bytes. */
export function cellText(column: Column, row: number): string {
  if (column.type === "text") return column.shortWords[column.codes[row] as number] || MISSING;
  return numberText(column, column.values[row] as number);
}

function numberText(column: NumberColumn, value: number): string {
  if (Number.isNaN(value)) return MISSING;
  if (column.meta.kind === "ratio") return percent(value);
  if (column.meta.kind === "bytes") return bytes(value);
  if (column.meta.kind === "count") return count(value);
  if (column.meta.kind === "rank") return fixed(value, 0);
  return aligned(value * column.shown.scale, column.decimals);
}

/** Heading with its unit: "Self time (µs)". Ratios and bytes carry their unit in the cell. */
export function headingText(column: Column): string {
  const { label, kind } = column.meta;
  const unit = shownUnit(column);
  return unit && kind !== "ratio" && kind !== "bytes" ? `${label} (${unit})` : label;
}

/** The unit a column is shown in; "" for none. */
export function shownUnit(column: Column): string {
  return column.type === "number" ? column.shown.unit : column.meta.unit;
}

/** The whole text of a cell, however long. */
export function fullText(column: Column, row: number): string {
  return column.type === "text" ? wordAt(column, row) || MISSING : cellText(column, row);
}

/** The sum of a column over some rows, or "" where a sum means nothing. */
export function sumText(column: Column, rows: Uint32Array): string {
  if (column.type !== "number" || !column.meta.adds_up) return "";
  const sum = sumOf(column, rows);
  return sum === null ? MISSING : numberText(column, sum);
}

/** Rows as tab-separated text with a heading; numbers unrounded, in the units of the page. */
export function toTsv(columns: readonly Column[], rows: Iterable<number>): string {
  const lines = [columns.map((column) => rawHeading(column)).join("\t")];
  for (const row of rows) lines.push(columns.map((column) => rawCell(column, row)).join("\t"));
  return `${lines.join("\n")}\n`;
}

function rawHeading(column: Column): string {
  const { label } = column.meta;
  const unit = shownUnit(column);
  return plainCell(unit ? `${label} (${unit})` : label);
}

function rawCell(column: Column, row: number): string {
  if (column.type === "text") return plainCell(wordAt(column, row));
  const value = column.values[row] as number;
  if (Number.isNaN(value)) return "";
  const { scale } = column.shown;
  return String(scale === 1 ? value : Number((value * scale).toPrecision(15)));
}

/** A text cell that neither breaks the line nor is taken for a formula by a spreadsheet. */
export function plainCell(text: string): string {
  const flat = text.replace(/[\t\r\n]+/g, " ");
  return /^[=+\-@]/.test(flat) ? `'${flat}` : flat;
}
