/** Which rows of a table a person has picked, by their place in the shown order. */

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
