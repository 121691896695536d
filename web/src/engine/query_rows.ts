/** Rows of a query on the axis of the timeline: which are in view, which is under a point. */

import type { Span } from "../base/timeline.ts";

/** Stretches in the order of their begins. */
export interface QueryRows {
  readonly lanes: number;
  readonly begin_ps: readonly number[];
  readonly end_ps: readonly number[];
  readonly lane: readonly number[];
}

/** A row as it is drawn. */
export interface DrawnRow {
  readonly row: number;
  readonly left: number;
  readonly right: number;
  readonly lane: number;
}

/** Narrower rows would not be seen. */
const LEAST_PX = 1;
/** Rows that show less than this beside the one before are left to it. */
const SEEN_PX = 0.5;

/** The rows in view, in px of a lane of this width; of those that share a pixel the first. */
export function drawnRows(rows: QueryRows, view: Span, width: number): DrawnRow[] {
  const scale = width / (view.end - view.begin);
  const filled = new Float64Array(rows.lanes).fill(-1);
  const drawn: DrawnRow[] = [];
  for (let row = 0; row < rows.begin_ps.length; row++) {
    const begin = rows.begin_ps[row] as number;
    if (begin > view.end) break;
    const end = rows.end_ps[row] as number;
    if (end < view.begin) continue;
    const left = Math.max(0, (begin - view.begin) * scale);
    const right = Math.min(width, Math.max((end - view.begin) * scale, left + LEAST_PX));
    const lane = rows.lane[row] as number;
    if (right - (filled[lane] as number) < SEEN_PX) continue;
    filled[lane] = right;
    drawn.push({ row, left, right, lane });
  }
  return drawn;
}

/** The drawn row of a lane at a place, or the nearest within reach; -1 for none. */
export function rowUnder(drawn: readonly DrawnRow[], lane: number, x: number, reach = 3): number {
  let nearest = -1;
  let least = reach;
  for (const one of drawn) {
    if (one.lane !== lane) continue;
    const away = Math.max(one.left - x, x - one.right, 0);
    if (away > least || (away === least && nearest >= 0)) continue;
    nearest = one.row;
    least = away;
  }
  return nearest;
}

/** From the first begin to the last end; null without rows. */
export function extentOf(rows: QueryRows): Span | null {
  const begin = rows.begin_ps[0];
  if (begin === undefined) return null;
  return { begin, end: rows.end_ps.reduce((a, b) => Math.max(a, b), begin + 1) };
}
