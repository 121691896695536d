/** Which rows of a table a person has picked, by their place in the shown order. */

import type { Table, TextColumn } from "./table.ts";

export interface Picked {
  readonly places: ReadonlySet<number>;
  /** Where a range begins, and where it now ends; -1 before anything was picked. */
  readonly anchor: number;
  readonly active: number;
}

export const NONE_PICKED: Picked = { places: new Set(), anchor: -1, active: -1 };

function range(from: number, to: number): Set<number> {
  const places = new Set<number>();
  for (let i = Math.min(from, to); i <= Math.max(from, to); i++) places.add(i);
  return places;
}

/** After a press on a row: alone, as the end of a range, or added to or taken from the others. */
export function pickPlace(
  picked: Picked,
  place: number,
  mode: "alone" | "range" | "toggle",
): Picked {
  if (mode === "range" && picked.anchor >= 0) {
    return { places: range(picked.anchor, place), anchor: picked.anchor, active: place };
  }
  if (mode === "toggle") {
    const places = new Set(picked.places);
    if (!places.delete(place)) places.add(place);
    return { places, anchor: place, active: place };
  }
  return { places: new Set([place]), anchor: place, active: place };
}

/** After a key of a list: arrows, Page Up and Down, Home, End; null for any other key. */
export function pickByKey(
  picked: Picked,
  key: string,
  extend: boolean,
  rows: number,
  page: number,
): Picked | null {
  if (rows === 0) return null;
  const goal: Readonly<Record<string, number>> = {
    ArrowDown: picked.active + 1,
    ArrowUp: picked.active - 1,
    PageDown: picked.active + page,
    PageUp: picked.active - page,
    Home: 0,
    End: rows - 1,
  };
  const place = goal[key];
  if (place === undefined) return null;
  return pickPlace(picked, Math.min(rows - 1, Math.max(0, place)), extend ? "range" : "alone");
}

export function pickAll(rows: number): Picked {
  return rows === 0 ? NONE_PICKED : { places: range(0, rows - 1), anchor: 0, active: rows - 1 };
}

/** The picked row numbers in shown order; all shown rows when none is picked. */
export function pickedRows(picked: Picked, shown: Uint32Array): number[] | Uint32Array {
  if (picked.places.size === 0) return shown;
  return [...picked.places].sort((a, b) => a - b).map((place) => shown[place] as number);
}

/** A table and the order in which its rows are shown. */
export interface Shown {
  readonly table: Table;
  readonly rows: Uint32Array;
}

/**
 * What is picked once the table has been asked for again: the same rows, wherever they are shown
 * now. Nothing where its rows are others, or where a person changed what is shown.
 */
export function followed(picked: Picked, before: Shown, after: Shown): Picked {
  if (picked.places.size === 0 || before.table === after.table) return NONE_PICKED;
  if (!sameNames(before.table, after.table)) return NONE_PICKED;
  const placeOf = new Map<number, number>();
  after.rows.forEach((row, place) => void placeOf.set(row, place));
  const moved = (place: number) => placeOf.get(before.rows[place] ?? -1) ?? -1;
  const active = moved(picked.active);
  if (active < 0) return NONE_PICKED;
  const places = [...picked.places].map(moved).filter((place) => place >= 0);
  return { places: new Set(places), anchor: moved(picked.anchor), active };
}

/** Whether two tables have rows of the same names in the same order. */
function sameNames(one: Table, other: Table): boolean {
  const [mine, theirs] = [namesOf(one), namesOf(other)];
  if (mine === undefined || theirs === undefined || one.rows !== other.rows) return false;
  return mine.codes.every(
    (code, row) => mine.words[code] === theirs.words[theirs.codes[row] ?? -1],
  );
}

function namesOf(table: Table): TextColumn | undefined {
  return table.columns.find((column) => column.type === "text");
}
