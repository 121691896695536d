/** Which slice lies under a point. */

import type { Place, Span } from "../../base/timeline.ts";
import { BEGINS_BEFORE, ENDS_BEHIND, firstEndingAt, rowKey, type Tile } from "./tile.ts";
import type { Drawn } from "./tile_store.ts";

/** A slice of a tile in terms of the time axis. */
export interface Hit {
  readonly event: number;
  /** Events merged in the slice. */
  readonly count: number;
  /** Busy share of the slice, 0–1. */
  readonly busy: number;
  readonly name: number;
  readonly category: number;
  readonly track: number;
  readonly lane: number;
  readonly span: Span;
  /** Whether the event goes on beyond what `span` tells. */
  readonly cut: boolean;
}

export function hitOf(tile: Tile, slice: number, track: number, lane: number): Hit {
  const kind = tile.kind[slice] as number;
  return {
    event: tile.event[slice] as number,
    count: tile.count[slice] as number,
    busy: (tile.fill[slice] as number) / 255,
    name: tile.names[tile.name[slice] as number] as number,
    category: kind & 63,
    track,
    lane,
    span: {
      begin: tile.begin + (tile.x0[slice] as number) * tile.unit,
      end: tile.begin + (tile.x1[slice] as number) * tile.unit,
    },
    cut: (kind & (BEGINS_BEFORE | ENDS_BEHIND)) !== 0,
  };
}

/** The slice of a lane at `time`, or the nearest within `reach` ps. */
export function sliceAt(
  drawn: readonly Drawn[],
  track: number,
  lane: number,
  time: number,
  reach: number,
): Hit | null {
  let best: Hit | null = null;
  let nearest = reach;
  for (const { tile, clip } of drawn) {
    if (time + reach < clip.begin || time - reach >= clip.end) continue;
    const row = tile.rowOf.get(rowKey(track, lane));
    if (row === undefined) continue;
    const high = tile.rowBegin[row + 1] as number;
    const from = (time - reach - tile.begin) / tile.unit;
    let i = firstEndingAt(tile, tile.rowBegin[row] as number, high, from);
    for (; i < high; i++) {
      const begin = tile.begin + (tile.x0[i] as number) * tile.unit;
      const end = tile.begin + (tile.x1[i] as number) * tile.unit;
      if (begin > time + reach) break;
      const away = Math.max(begin - time, time - end, 0);
      if (away < nearest || (best === null && away <= nearest)) {
        nearest = away;
        best = hitOf(tile, i, track, lane);
      }
    }
  }
  return best?.cut ? joined(drawn, best) : best;
}

/** The slice with its pieces in the tiles beside, as far as those are on the screen. */
function joined(drawn: readonly Drawn[], hit: Hit): Hit {
  let { begin, end } = hit.span;
  let before = false;
  let behind = false;
  for (const { tile } of drawn) {
    const row = tile.rowOf.get(rowKey(hit.track, hit.lane));
    if (row === undefined) continue;
    // A piece of a cut event is the first or the last of its row.
    const low = tile.rowBegin[row] as number;
    const high = (tile.rowBegin[row + 1] as number) - 1;
    for (const i of high > low ? [low, high] : [low]) {
      if (tile.event[i] !== hit.event || tile.count[i] !== hit.count) continue;
      const kind = tile.kind[i] as number;
      const from = tile.begin + (tile.x0[i] as number) * tile.unit;
      const to = tile.begin + (tile.x1[i] as number) * tile.unit;
      if (from <= begin) before = (kind & BEGINS_BEFORE) !== 0;
      if (to >= end) behind = (kind & ENDS_BEHIND) !== 0;
      begin = Math.min(begin, from);
      end = Math.max(end, to);
    }
  }
  return { ...hit, span: { begin, end }, cut: before || behind };
}

/** Where the slice is drawn, as a place without its name. */
export function hitPlace(hit: Hit): Place {
  return {
    event: hit.event,
    track: hit.track,
    lane: hit.lane,
    begin_ps: hit.span.begin,
    end_ps: hit.span.end,
    name: "",
    name_id: hit.name,
    category: hit.category,
  };
}
