/** How much detail each tile of a screen may have, so that the screen as a whole stays small. */

import type { TimelineTrack } from "../../base/timeline.ts";
import { type Group, type LaneRun, TILE_PX, type TileAddress, tileSpan } from "./tile_grid.ts";

/** Slices of all tiles of a screen together: at 16 bytes each, 384 kB. */
export const SCREEN_SLICES = 24_000;
/** More than a tile can use: its picture has few places for more. */
const MOST_SLICES = 6000;
/** Every tile gets these: where events are gathered in one place, the estimate is too low. */
const LEAST_SLICES = 100;

/** Slices that the lanes show in a stretch of time, if their events are spread evenly. */
function expected(run: LaneRun, tracks: readonly TimelineTrack[], begin: number, end: number) {
  const track = tracks[run.track];
  if (!track || track.lanes === 0) return 0;
  const overlap = Math.min(end, track.end_ps) - Math.max(begin, track.begin_ps);
  if (overlap <= 0) return 0;
  const share = Math.min(1, overlap / Math.max(1, track.end_ps - track.begin_ps));
  // A bucket shows one slice, whatever is in it.
  return (run.end - run.first) * Math.min((share * track.events) / track.lanes, TILE_PX);
}

/** The most slices to ask for, for each of the tiles of one screen. */
export function budgets(
  wanted: readonly TileAddress[],
  groups: readonly Group[],
  tracks: readonly TimelineTrack[],
): number[] {
  const weights = wanted.map((address) => {
    const { begin, end } = tileSpan(address);
    const runs = groups[address.group]?.runs ?? [];
    return runs.reduce((sum, run) => sum + expected(run, tracks, begin, end), 0);
  });
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const shared = Math.max(0, SCREEN_SLICES - wanted.length * LEAST_SLICES);
  return weights.map((weight) => {
    const part = total > 0 ? (shared * weight) / total : shared / wanted.length;
    return Math.min(MOST_SLICES, LEAST_SLICES + Math.floor(part));
  });
}
