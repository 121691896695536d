/**
 * A table as columns: numbers in typed arrays, texts as codes into a dictionary. Sorting and
 * filtering give permutations of row numbers; no row object is ever made.
 */

import { type Cell, type ColumnarTable, type ColumnMeta, isNumeric } from "../../base/columns.ts";
import { columnDecimals } from "../../base/format.ts";
import { shortNames } from "../../base/short_name.ts";
import { visible } from "../../base/text.ts";
import { type ColumnUnit, isMoment, unitOf } from "./column_unit.ts";

export interface NumberColumn {
  readonly type: "number";
  readonly meta: ColumnMeta;
  /** NaN where a value is not available. */
  readonly values: Float64Array;
  /** Unit that suits the largest value, and the factor to it. */
  readonly shown: ColumnUnit;
  /** Decimals that suit the column as it is shown; see `columnDecimals`. */
  readonly decimals: number;
  /** Greatest value that is a number, or 0. */
  readonly max: number;
  readonly available: number;
}

export interface TextColumn {
  readonly type: "text";
  readonly meta: ColumnMeta;
  /** Index into `words` per row. */
  readonly codes: Uint32Array;
  readonly words: readonly string[];
  /** The words as cells show them: names of kernels without their arguments. */
  readonly shortWords: readonly string[];
  readonly available: number;
}

export type Column = NumberColumn | TextColumn;

export interface Table {
  readonly rows: number;
  readonly columns: readonly Column[];
}

/** Builds the table; columns without a description get one from their name and values. */
export function buildTable(source: ColumnarTable, metas: readonly ColumnMeta[]): Table {
  const described = new Set(metas.map((meta) => meta.name));
  const rest = Object.keys(source.columns).filter((name) => !described.has(name));
  const all = [...metas, ...rest.map((name) => guessMeta(name, source.columns[name] ?? []))];
  const columns = all
    .filter((meta) => source.columns[meta.name] !== undefined)
    .map((meta) => buildColumn(meta, source.columns[meta.name] as readonly Cell[]));
  return { rows: source.rows, columns };
}

function guessMeta(name: string, cells: readonly Cell[]): ColumnMeta {
  const sample = cells.find((cell) => cell !== null);
  const kind =
    typeof sample === "number" ? "number" : typeof sample === "boolean" ? "flag" : "text";
  return { name, label: name, unit: "", kind, help: "", sort: "", hidden: false };
}

function buildColumn(meta: ColumnMeta, cells: readonly Cell[]): Column {
  return isNumeric(meta.kind) ? numberColumn(meta, cells) : textColumn(meta, cells);
}

function numberColumn(meta: ColumnMeta, cells: readonly Cell[]): NumberColumn {
  const values = new Float64Array(cells.length);
  let max = 0;
  let available = 0;
  for (let i = 0; i < cells.length; i++) {
    const cell = cells[i];
    const value = typeof cell === "number" ? cell : Number.NaN;
    values[i] = value;
    if (Number.isNaN(value)) continue;
    available += 1;
    if (value > max) max = value;
  }
  const whole = meta.kind === "count" || meta.kind === "rank";
  const shown = unitOf(meta, max);
  const decimals = whole
    ? 0
    : meta.kind === "ratio"
      ? 1
      : isMoment(meta)
        ? MOMENT_DECIMALS
        : columnDecimals(scaled(values, shown.scale));
  return { type: "number", meta, values, shown, decimals, max, available };
}

/** Moments differ in their last digits. */
const MOMENT_DECIMALS = 3;

function scaled(values: Float64Array, scale: number): Float64Array {
  return scale === 1 ? values : values.map((value) => value * scale);
}

function textColumn(meta: ColumnMeta, cells: readonly Cell[]): TextColumn {
  const codes = new Uint32Array(cells.length);
  const words: string[] = [];
  const known = new Map<string, number>();
  let available = 0;
  for (let i = 0; i < cells.length; i++) {
    const cell = cells[i];
    const word = typeof cell === "boolean" ? (cell ? "yes" : "no") : cell == null ? "" : `${cell}`;
    if (word !== "") available += 1;
    let code = known.get(word);
    if (code === undefined) {
      code = words.length;
      known.set(word, code);
      words.push(visible(word));
    }
    codes[i] = code;
  }
  const shortWords = meta.kind === "name" ? shortNames(words) : words;
  return { type: "text", meta, codes, words, shortWords, available };
}

export function columnOf(table: Table, name: string): Column | undefined {
  return table.columns.find((column) => column.meta.name === name);
}

/** The text of a text column's cell. */
export function wordAt(column: TextColumn, row: number): string {
  return column.words[column.codes[row] as number] as string;
}

/** Row numbers `0 … rows-1`. */
export function allRows(rows: number): Uint32Array {
  const order = new Uint32Array(rows);
  for (let i = 0; i < rows; i++) order[i] = i;
  return order;
}

/** Sorts row numbers in place by one column, stably; rows without a value come last either way. */
export function sortRows(rows: Uint32Array, column: Column, descending: boolean): Uint32Array {
  const keys = column.type === "number" ? column.values : ranksOf(column);
  const sign = descending ? -1 : 1;
  return rows.sort((a, b) => {
    const x = keys[a] as number;
    const y = keys[b] as number;
    if (x === y) return a - b;
    if (Number.isNaN(x)) return Number.isNaN(y) ? a - b : 1;
    if (Number.isNaN(y)) return -1;
    return x < y ? -sign : sign;
  });
}

/** Alphabetical rank per row: each distinct word is compared once, not each row. */
function ranksOf(column: TextColumn): Float64Array {
  const order = column.words.map((_, code) => code);
  const { compare } = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
  order.sort((a, b) => compare(column.words[a] as string, column.words[b] as string));
  const rankOfCode = new Float64Array(order.length);
  order.forEach((code, rank) => {
    rankOfCode[code] = column.words[code] === "" ? Number.NaN : rank;
  });
  const ranks = new Float64Array(column.codes.length);
  for (let i = 0; i < ranks.length; i++) ranks[i] = rankOfCode[column.codes[i] as number] as number;
  return ranks;
}

/** Sum of a number column over some rows; rows without a value do not count; null if none has. */
export function sumOf(column: NumberColumn, rows: Uint32Array): number | null {
  let sum = 0;
  let seen = false;
  for (const row of rows) {
    const value = column.values[row] as number;
    if (Number.isNaN(value)) continue;
    sum += value;
    seen = true;
  }
  return seen ? sum : null;
}
