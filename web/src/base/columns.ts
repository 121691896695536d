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
  /** A sum over rows means something: amounts add up, levels and means do not. */
  readonly adds_up?: boolean;
  /** Its ratios are shares of one whole, to be compared with each other. */
  readonly is_share?: boolean;
  /** Each row holds the sum of all rows before it. */
  readonly is_cumulative?: boolean;
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
