/** What lies under the slices: the grid of round times, headings of sections, edges of tracks. */

import type { Density } from "../../base/timeline.ts";
import type { Band } from "../../engine/timeline/arrangement.ts";
import { type Screen, xOf } from "../../engine/timeline/screen.ts";
import { rulerTicks } from "../../engine/timeline/time_axis.ts";
import type { Palette } from "./palette.ts";

/** Distance between the ruler's ticks and the lines below them. */
export const TICKS_APART_PX = 90;

export function paintGround(
  context: CanvasRenderingContext2D,
  screen: Screen,
  dpr: number,
  palette: Palette,
): void {
  const { theme } = palette;
  context.setTransform(dpr, 0, 0, dpr, 0, 0);
  context.fillStyle = theme.bg;
  context.fillRect(0, 0, screen.width, screen.height);
  context.fillStyle = theme.line;
  for (const time of rulerTicks(screen.view, screen.width, TICKS_APART_PX)) {
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

/** How busy the tracks of closed sections are, on their headings. */
export function paintClosed(
  context: CanvasRenderingContext2D,
  screen: Screen,
  closed: ReadonlySet<number>,
  density: Density,
  palette: Palette,
): void {
  context.fillStyle = palette.counter;
  for (const band of screen.bands) {
    if (band.kind !== "section" || !closed.has(band.id)) continue;
    const found = density.sections.find((each) => each.section === band.id);
    const y = screen.pinnedHeight + band.top - screen.scroll + 4;
    if (!found || found.tracks === 0 || y < screen.pinnedHeight) continue;
    found.active.forEach((active, column) => {
      if (active <= 0) return;
      const left = Math.round(xOf(screen, density.begin_ps + column * density.column_ps));
      const right = Math.round(xOf(screen, density.begin_ps + (column + 1) * density.column_ps));
      if (right < 0 || left > screen.width) return;
      context.globalAlpha = 0.25 + 0.75 * Math.min(1, active / found.tracks);
      context.fillRect(left, y, Math.max(1, right - left), band.height - 7);
    });
  }
  context.globalAlpha = 1;
}
