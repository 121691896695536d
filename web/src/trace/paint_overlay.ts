/** What lies over the slices: grid, selection, hits of a search, range, marks, arrows, cursor. */

import type { FlowArrow, Place, Span } from "../base/timeline.ts";
import { type Screen, xOf } from "../engine/timeline/screen.ts";
import type { Palette } from "./palette.ts";

export interface Overlay {
  readonly selected: Place | null;
  readonly hovered: Place | null;
  readonly hits: readonly Place[];
  readonly range: Span | null;
  /** Tracks of the range; null: all. */
  readonly rangeTracks: readonly number[] | null;
  readonly drawing: Span | null;
  readonly marks: readonly number[];
  readonly cursor: number | null;
  /** Arrows around the selected event. */
  readonly arrows: readonly FlowArrow[];
  /** All other arrows in view, drawn more quietly. */
  readonly quietArrows: readonly FlowArrow[];
}

/** The row's top and height on the screen; null when the lane is not on it. */
function laneAt(screen: Screen, place: Place): { y: number; height: number } | null {
  const row = screen.rows.find((each) => each.track === place.track && each.lane === place.lane);
  return row ? { y: row.y + 2, height: Math.max(1, row.height - 1) } : null;
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

export function paintOverlay(
  context: CanvasRenderingContext2D,
  screen: Screen,
  overlay: Overlay,
  palette: Palette,
): void {
  const { range, drawing, rangeTracks } = overlay;
  if (range) paintSpan(context, screen, range, rangeTracks, palette.theme.picked);
  if (drawing) paintSpan(context, screen, drawing, null, palette.mark);
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

/** Where an arrow's end stands: on its lane, or at the edge of the stage towards it. */
function endOf(screen: Screen, place: Place, time: number): { x: number; y: number; on: boolean } {
  const lane = laneAt(screen, place);
  const x = xOf(screen, time);
  if (lane) return { x, y: lane.y + lane.height / 2, on: x >= 0 && x <= screen.width };
  const first = screen.rows.find((row) => !row.pinned);
  const above = first !== undefined && place.track < first.track;
  return { x, y: above ? screen.pinnedHeight + 4 : screen.height - 4, on: false };
}

const HEAD_PX = 5;
const STUB_PX = 6;

interface ArrowStyle {
  readonly thick: number;
  readonly opacity: number;
}

function paintArrows(
  context: CanvasRenderingContext2D,
  screen: Screen,
  arrows: readonly FlowArrow[],
  palette: Palette,
  { thick, opacity }: ArrowStyle,
): void {
  context.strokeStyle = palette.flow;
  context.fillStyle = palette.flow;
  context.lineWidth = thick;
  context.globalAlpha = opacity;
  for (const arrow of arrows) paintArrow(context, screen, arrow);
  context.globalAlpha = 1;
}

function paintArrow(context: CanvasRenderingContext2D, screen: Screen, arrow: FlowArrow): void {
  const from = endOf(screen, arrow.from, arrow.from.begin_ps);
  const to = endOf(screen, arrow.to, arrow.to.begin_ps);
  if (Math.max(from.x, to.x) < 0 || Math.min(from.x, to.x) > screen.width) return;
  const bend = Math.min(60, Math.max(12, Math.abs(to.x - from.x) / 2));
  context.setLineDash(from.on && to.on ? [] : [4, 3]);
  context.beginPath();
  context.moveTo(from.x, from.y);
  context.bezierCurveTo(from.x + bend, from.y, to.x - bend, to.y, to.x, to.y);
  context.stroke();
  context.setLineDash([]);
  if (to.on) {
    context.beginPath();
    context.moveTo(to.x, to.y);
    context.lineTo(to.x - HEAD_PX, to.y - HEAD_PX * 0.7);
    context.lineTo(to.x - HEAD_PX, to.y + HEAD_PX * 0.7);
    context.fill();
  } else {
    const x = Math.min(Math.max(to.x, STUB_PX), screen.width - STUB_PX);
    context.fillRect(x - STUB_PX / 2, to.y - STUB_PX / 2, STUB_PX, STUB_PX);
  }
}
