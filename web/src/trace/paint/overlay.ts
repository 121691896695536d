/** What lies over the slices: grid, selection, hits of a search, range, marks, arrows, cursor. */

import type { FlowArrow, PathAnswer, Place, Span } from "../../base/timeline.ts";
import { type Screen, xOf } from "../../engine/timeline/screen.ts";
import { laneAt, paintArrows, paintTags, type Tag } from "./arrows.ts";
import type { Palette } from "./palette.ts";
import { paintPath } from "./path.ts";

export interface Overlay {
  readonly selected: Place | null;
  readonly hovered: Place | null;
  readonly hits: readonly Place[];
  /** Whether everything that is not a hit is dimmed. */
  readonly isDimmed: boolean;
  readonly range: Span | null;
  /** Tracks of the range; null: all. */
  readonly rangeTracks: readonly number[] | null;
  readonly drawing: Span | null;
  /** The critical path; null while it is not shown. */
  readonly path: PathAnswer["pieces"] | null;
  readonly marks: readonly number[];
  readonly cursor: number | null;
  /** Arrows around the selected event. */
  readonly arrows: readonly FlowArrow[];
  /** All other arrows in view, drawn more quietly. */
  readonly quietArrows: readonly FlowArrow[];
  readonly trackName: (track: number) => string;
}

function outline(
  context: CanvasRenderingContext2D,
  screen: Screen,
  place: Place,
  colour: string,
  thick: number,
): void {
  const lane = laneAt(screen, place);
  if (!lane) return;
  const left = Math.max(-4, xOf(screen, place.begin_ps));
  const right = Math.min(screen.width + 4, xOf(screen, place.end_ps));
  if (right < 0 || left > screen.width) return;
  context.strokeStyle = colour;
  context.lineWidth = thick;
  context.strokeRect(left, lane.y, Math.max(right - left, 2), lane.height);
}

/** Returns the names it wrote of arrows' ends that are not on the screen. */
export function paintOverlay(
  context: CanvasRenderingContext2D,
  screen: Screen,
  overlay: Overlay,
  palette: Palette,
): readonly Tag[] {
  const { range, drawing, rangeTracks } = overlay;
  if (range) paintSpan(context, screen, range, rangeTracks, palette.theme.picked);
  if (drawing) paintSpan(context, screen, drawing, null, palette.mark);
  if (overlay.path) paintPath(context, screen, overlay.path, palette.mark);
  if (overlay.isDimmed) dimAllBut(context, screen, overlay.hits, palette.theme.bg);
  for (const hit of overlay.hits) outline(context, screen, hit, palette.found, 2);
  if (overlay.hovered) outline(context, screen, overlay.hovered, palette.theme.fg, 1);
  paintArrows(context, screen, overlay.quietArrows, palette, { thick: 1, opacity: 0.35 });
  paintArrows(context, screen, overlay.arrows, palette, { thick: 1.75, opacity: 1 });
  if (overlay.selected) outline(context, screen, overlay.selected, palette.theme.fg, 2.5);
  context.fillStyle = palette.mark;
  for (const mark of overlay.marks) {
    context.fillRect(Math.round(xOf(screen, mark)), 0, 1.5, screen.height);
  }
  if (overlay.cursor !== null) {
    context.fillStyle = palette.theme.strong;
    context.fillRect(Math.round(xOf(screen, overlay.cursor)), 0, 1, screen.height);
  }
  return paintTags(context, screen, overlay.arrows, palette, overlay.trackName);
}

/** A veil over the stage with a hole for each hit. */
function dimAllBut(
  context: CanvasRenderingContext2D,
  screen: Screen,
  hits: readonly Place[],
  colour: string,
): void {
  context.beginPath();
  context.rect(0, 0, screen.width, screen.height);
  for (const hit of hits) {
    const lane = laneAt(screen, hit);
    if (!lane) continue;
    const left = Math.max(0, xOf(screen, hit.begin_ps));
    const right = Math.min(screen.width, xOf(screen, hit.end_ps));
    if (right >= left) context.rect(left, lane.y, Math.max(right - left, 2), lane.height);
  }
  context.globalAlpha = 0.6;
  context.fillStyle = colour;
  context.fill("evenodd");
  context.globalAlpha = 1;
}

function paintSpan(
  context: CanvasRenderingContext2D,
  screen: Screen,
  span: Span,
  tracks: readonly number[] | null,
  colour: string,
): void {
  const left = xOf(screen, span.begin);
  const right = xOf(screen, span.end);
  context.fillStyle = colour;
  context.globalAlpha = 0.14;
  if (tracks === null) context.fillRect(left, 0, right - left, screen.height);
  else {
    const chosen = new Set(tracks);
    for (const row of screen.rows) {
      if (chosen.has(row.track)) context.fillRect(left, row.y, right - left, row.height);
    }
  }
  context.globalAlpha = tracks === null ? 1 : 0.6;
  context.fillRect(left, 0, 1, screen.height);
  context.fillRect(right, 0, 1, screen.height);
  context.globalAlpha = 1;
}
