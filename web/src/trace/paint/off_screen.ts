/** Where to look for the events of a track that has none in view. */

import { duration } from "../../base/format.ts";
import type { TimelineTrack } from "../../base/timeline.ts";
import type { Band } from "../../engine/timeline/arrangement.ts";
import type { Screen } from "../../engine/timeline/screen.ts";
import { LABEL_FONT } from "./labels.ts";
import type { Palette } from "./palette.ts";

const LEAST_HEIGHT_PX = 14;
const MARGIN_PX = 6;

/** Writes at the edge towards a track's events how far away they are. */
export function paintBeyond(
  context: CanvasRenderingContext2D,
  screen: Screen,
  tracks: readonly TimelineTrack[],
  palette: Palette,
): void {
  const { begin, end } = screen.view;
  context.save();
  context.font = LABEL_FONT;
  context.textBaseline = "middle";
  context.fillStyle = palette.quiet;
  const tell = (band: Band, top: number) => {
    const track = tracks[band.id];
    if (!track || band.kind !== "track" || band.height < LEAST_HEIGHT_PX) return;
    if (track.events === 0) return;
    const y = top + Math.min(band.height, band.lanePx) / 2 + 2;
    if (track.end_ps < begin) {
      context.textAlign = "left";
      context.fillText(`← ${duration(begin - track.end_ps, "ps")}`, MARGIN_PX, y);
    } else if (track.begin_ps > end) {
      const text = `${duration(track.begin_ps - end, "ps")} →`;
      context.textAlign = "right";
      context.fillText(text, screen.width - MARGIN_PX, y);
    }
  };
  for (const band of screen.pinned) tell(band, band.top);
  context.beginPath();
  context.rect(0, screen.pinnedHeight, screen.width, screen.height - screen.pinnedHeight);
  context.clip();
  for (const band of screen.bands) tell(band, screen.pinnedHeight + band.top - screen.scroll);
  context.restore();
}
