/** The critical path over the slices: a bar below each of its pieces, joined in order of time. */

import type { PathAnswer } from "../../base/timeline.ts";
import { type Row, type Screen, xOf } from "../../engine/timeline/screen.ts";

const BAR_PX = 3;

export function paintPath(
  context: CanvasRenderingContext2D,
  screen: Screen,
  path: PathAnswer["pieces"],
  colour: string,
): void {
  context.fillStyle = colour;
  context.strokeStyle = colour;
  context.lineWidth = 1;
  const lanes = lanesOf(screen);
  const first = firstBehind(path.end_ps, screen.view.begin);
  let from: { x: number; y: number } | null = null;
  context.beginPath();
  for (let i = first; i < path.begin_ps.length; i++) {
    const begin = path.begin_ps[i] as number;
    if (begin > screen.view.end) break;
    const lane = lanes(path.track[i] as number, path.lane[i] as number);
    if (!lane) {
      from = null;
      continue;
    }
    const left = Math.max(-BAR_PX, xOf(screen, begin));
    const right = Math.min(screen.width + BAR_PX, xOf(screen, path.end_ps[i] as number));
    const y = lane.y + lane.height - BAR_PX;
    context.fillRect(left, y, Math.max(right - left, 1), BAR_PX);
    if (from && from.y !== y) {
      context.moveTo(from.x, from.y + BAR_PX / 2);
      context.lineTo(left, y + BAR_PX / 2);
    }
    from = { x: right, y };
  }
  context.stroke();
}

/** Where a lane of a track is on the screen: of lanes that are not shown, the track's last row. */
function lanesOf(screen: Screen): (track: number, lane: number) => Row | undefined {
  const rows = new Map(screen.rows.map((row) => [`${row.track} ${row.lane}`, row] as const));
  const last = new Map(screen.rows.map((row) => [row.track, row] as const));
  return (track, lane) => {
    const deepest = last.get(track);
    return rows.get(`${track} ${lane}`) ?? (deepest && lane > deepest.lane ? deepest : undefined);
  };
}

/** The first piece that ends behind a moment; they are in order. */
function firstBehind(ends: readonly number[], moment: number): number {
  let low = 0;
  let high = ends.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ends[middle] as number) <= moment) low = middle + 1;
    else high = middle;
  }
  return low;
}
