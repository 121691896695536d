/** What a column or a field of a result means to a person. Mirrors `Column` on the server. */

export const KINDS = [
  "name",
  "text",
  "category",
  "count",
  "time",
  "ratio",
  "bytes",
  "rate",
  "number",
  "flag",
  "rank",
] as const;

export type Kind = (typeof KINDS)[number];

export interface ColumnMeta {
  readonly name: string;
  readonly label: string;
  /** Unit as printed after a number; "" for none. */
  readonly unit: string;
  readonly kind: Kind;
  readonly help: string;
  /** "asc" or "desc" on the column a table is sorted by when it arrives. */
  readonly sort: "" | "asc" | "desc";
  readonly hidden: boolean;
  /** Least width where cells arrive one by one, so that columns do not move; else their content's. */
  readonly widthPx?: number;
}

/** One cell as it travels in JSON; null means "not available" and is never shown as 0. */
export type Cell = string | number | boolean | null;

/** A table as it travels with `layout=columns`. */
export interface ColumnarTable {
  readonly rows: number;
  readonly columns: Readonly<Record<string, readonly Cell[]>>;
}

/** Such a table under a type that names its columns. */
export interface AnyTable {
  readonly rows: number;
  readonly columns: object;
}

export function isColumnarTable(value: unknown): value is ColumnarTable {
  if (typeof value !== "object" || value === null) return false;
  const table = value as { rows?: unknown; columns?: unknown };
  return (
    typeof table.rows === "number" && typeof table.columns === "object" && table.columns !== null
  );
}

const NUMERIC: ReadonlySet<Kind> = new Set([
  "count",
  "time",
  "ratio",
  "bytes",
  "rate",
  "number",
  "rank",
]);

/** Whether values of this kind are numbers (right-aligned, summed, compared with ≥ and ≤). */
export function isNumeric(kind: Kind): boolean {
  return NUMERIC.has(kind);
}

/** Whether its ratios are shares of one whole, to be compared with each other. */
export function isShare(column: ColumnMeta): boolean {
  return column.kind === "ratio" && /share/i.test(column.label) && !isCumulative(column);
}

/** Whether each row holds the sum of all rows before it. */
export function isCumulative(column: ColumnMeta): boolean {
  return /cumulative/i.test(column.label);
}

const ADDITIVE: Partial<Record<Kind, RegExp>> = {
  count: /^(occurrences|executions|events|count|kernels|steps|samples)$/,
  time: /^(step|self|total|busy|idle|wasted|delta|before|after)_|^total|_wait_|_compute_|_launch_|_device_/,
  bytes: /^(allocation|requested)_bytes$/,
  ratio: /(^|_)(self_time|total_time|time)_frac$/,
};

// Total times hold those of the ops within: added up they count time twice.
const NOT_ADDITIVE = /(^|_)(avg|average|mean|median|min|max|p\d+|cumulative)(_|$)|^total_time_/;

/** Whether a sum over rows of this column means something: amounts do, levels and means do not. */
export function isSummable(column: ColumnMeta): boolean {
  return (ADDITIVE[column.kind]?.test(column.name) ?? false) && !NOT_ADDITIVE.test(column.name);
}
