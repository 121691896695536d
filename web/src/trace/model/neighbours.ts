/** The event before or after another on its lane, whatever the zoom: merged slices are split. */

import { getTile, type TimelineScope } from "../../api/timeline.ts";
import type { Place, Span } from "../../base/timeline.ts";
import { decodeTile } from "../../engine/timeline/tile.ts";

const WIDTH_PX = 1024;
const MOST_ROUNDS = 12;

/** Id of the neighbour, or null at the end of the lane. */
export async function neighbourOf(
  scope: TimelineScope,
  place: Place,
  direction: 1 | -1,
  whole: Span,
  signal: AbortSignal,
): Promise<number | null> {
  let span: Span =
    direction > 0
      ? { begin: Math.max(place.end_ps, place.begin_ps + 1), end: whole.end + 1 }
      : { begin: whole.begin, end: place.begin_ps };
  for (let round = 0; round < MOST_ROUNDS && span.end > span.begin; round++) {
    const question = {
      tracks: `${place.track}:${place.lane}-${place.lane + 1}`,
      start_ps: span.begin,
      end_ps: span.end,
      width_px: WIDTH_PX,
    };
    const tile = decodeTile(await getTile(scope, question, signal));
    if (tile.event.length === 0) return null;
    const slice = direction > 0 ? 0 : tile.event.length - 1;
    if (tile.count[slice] === 1) return tile.event[slice] as number;
    // Slices begin and end on units of x; one more on each side cannot miss what is in it.
    const begin = tile.begin + ((tile.x0[slice] as number) - 1) * tile.unit;
    const end = tile.begin + ((tile.x1[slice] as number) + 1) * tile.unit;
    span = { begin: Math.max(span.begin, begin), end: Math.min(span.end, end) };
  }
  return null;
}
