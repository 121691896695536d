/** What lies under the slices: the grid of round times, headings of sections, edges of tracks. */

import type { Band } from "../engine/timeline/arrangement.ts";
import { type Screen, xOf } from "../engine/timeline/screen.ts";
import { ticks } from "../engine/timeline/viewport.ts";
import type { Palette } from "./palette.ts";

/** Distance between the ruler's ticks and the lines below them. */
export const TICKS_APART_PX = 90;

export function paintGround(
  context: CanvasRenderingContext2D,
  screen: Screen,
  origin: number,
  palette: Palette,
): void {
  const { theme } = palette;
  context.fillStyle = theme.line;
  for (const time of ticks(screen.view, screen.width, TICKS_APART_PX, origin)) {
    context.fillRect(Math.round(xOf(screen, time)), 0, 1, screen.height);
  }
  for (const band of screen.pinned) paintEdge(context, screen, band, band.top);
  context.save();
  context.beginPath();
  context.rect(0, screen.pinnedHeight, screen.width, screen.height - screen.pinnedHeight);
  context.clip();
  for (const band of screen.bands) {
    const y = screen.pinnedHeight + band.top - screen.scroll;
    if (band.kind === "track") {
      context.fillStyle = theme.line;
      paintEdge(context, screen, band, y);
      continue;
    }
    context.fillStyle = theme.panel;
    context.fillRect(0, y, screen.width, band.height);
    context.fillStyle = theme.strong;
    context.fillRect(0, y, screen.width, 1);
  }
  context.restore();
  if (screen.pinnedHeight > 0) {
    context.fillStyle = theme.fg;
    context.fillRect(0, screen.pinnedHeight - 1, screen.width, 1);
  }
}

function paintEdge(context: CanvasRenderingContext2D, screen: Screen, band: Band, y: number): void {
  context.fillRect(0, Math.round(y + band.height) - 1, screen.width, 1);
}
