/** How a person looks at a table (order, filters, columns), and its short form for the URL. */

import type { Condition, Relation } from "./filter.ts";
import { selectRows } from "./filter.ts";
import { type Column, columnOf, sortRows, type Table, wordAt } from "./table.ts";

export interface Order {
  readonly column: string;
  readonly descending: boolean;
}

export interface GridView {
  readonly query: string;
  readonly conditions: readonly Condition[];
  /** null: as the table arrives. */
  readonly order: Order | null;
  /** Columns switched on or off by hand; the others follow the table's own defaults. */
  readonly shown: Readonly<Record<string, boolean>>;
  /** Name of the row whose details are open; "" for none. */
  readonly row: string;
}

export const PLAIN_VIEW: GridView = { query: "", conditions: [], order: null, shown: {}, row: "" };

/** Longer names would make addresses too long; their beginnings tell them apart. */
const LONGEST_NAME = 300;

const CONDITION = /^([A-Za-z0-9_]+)(>=|<=|~|=)(.*)$/s;

/** The view as parameters; a plain view gives none. */
export function viewToParams(view: GridView): Record<string, string> {
  const params: Record<string, string> = {};
  if (view.query) params.q = view.query;
  if (view.order) params.sort = (view.order.descending ? "-" : "") + view.order.column;
  if (view.conditions.length > 0) {
    params.if = view.conditions
      .map((c) => `${c.column}${c.relation}${encodeURIComponent(c.value)}`)
      .join(",");
  }
  const shown = Object.entries(view.shown).map(([name, on]) => (on ? name : `!${name}`));
  if (shown.length > 0) params.cols = shown.join(",");
  if (view.row) params.row = view.row;
  return params;
}

/** The view that these parameters mean; what cannot be read is left out. */
export function viewFromParams(params: Readonly<Record<string, string>>): GridView {
  const sort = params.sort ?? "";
  return {
    query: params.q ?? "",
    conditions: listed(params.if).flatMap(readCondition),
    order: sort ? { column: sort.replace(/^-/, ""), descending: sort.startsWith("-") } : null,
    shown: Object.fromEntries(
      listed(params.cols).map((name) => [name.replace(/^!/, ""), !name.startsWith("!")]),
    ),
    row: params.row ?? "",
  };
}

/** What an address calls a row; "" where it cannot. */
export function nameOfRow(table: Table, row: number | undefined): string {
  const column = table.columns.find(({ meta }) => meta.kind === "name");
  if (column?.type !== "text" || row === undefined) return "";
  return wordAt(column, row).slice(0, LONGEST_NAME);
}

/** Where among the rows the first of this name is, -1 nowhere. */
export function placeOfRow(table: Table, rows: Uint32Array, name: string): number {
  const wanted = name.slice(0, LONGEST_NAME);
  return wanted === "" ? -1 : rows.findIndex((row) => nameOfRow(table, row) === wanted);
}

function listed(text: string | undefined): string[] {
  return (text ?? "").split(",").filter((part) => part !== "");
}

function readCondition(text: string): Condition[] {
  const match = CONDITION.exec(text);
  if (!match) return [];
  const [, column, relation, value] = match as unknown as [string, string, Relation, string];
  try {
    return [{ column, relation, value: decodeURIComponent(value) }];
  } catch {
    return [];
  }
}

/** The order a table has when nobody chose one. */
export function defaultOrder(table: Table): Order | null {
  const sorted = table.columns.find((column) => column.meta.sort !== "");
  return sorted ? { column: sorted.meta.name, descending: sorted.meta.sort === "desc" } : null;
}

/** The order after a press on a heading: its natural direction, the other one, as it came. */
export function nextOrder(table: Table, now: Order | null, name: string): Order | null {
  const column = columnOf(table, name);
  const natural = column?.type === "number" && column.meta.kind !== "rank";
  if (now?.column !== name) return { column: name, descending: natural };
  return now.descending === natural ? { column: name, descending: !natural } : null;
}

/** Row numbers to show, in order, and what could not be applied. */
export function arrange(table: Table, view: GridView): { rows: Uint32Array; problem: string } {
  const { rows, problem } = selectRows(table, view.query, view.conditions);
  const order = view.order ?? defaultOrder(table);
  const column = order && columnOf(table, order.column);
  if (order && column) sortRows(rows, column, order.descending);
  return { rows, problem };
}

/** Whether a column is shown: as chosen by hand, else unless it is hidden or has no value at all. */
export function isShown(column: Column, view: GridView): boolean {
  return view.shown[column.meta.name] ?? !(column.meta.hidden || column.available === 0);
}

/** For a narrow window: the first name, then what was measured, then the other texts. */
export function numbersFirst(columns: readonly Column[]): readonly Column[] {
  const name = columns.find(({ meta }) => meta.kind === "name");
  const rank = (column: Column) =>
    column === name ? 0 : column.meta.kind === "rank" ? 3 : column.type === "number" ? 1 : 2;
  return [...columns].sort((a, b) => rank(a) - rank(b));
}
