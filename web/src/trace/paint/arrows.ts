/** Arrows between events; an end that is not on the screen is named at the edge towards it. */

import type { FlowArrow, Place } from "../../base/timeline.ts";
import { type Screen, xOf } from "../../engine/timeline/screen.ts";
import { LABEL_FONT } from "./labels.ts";
import type { Palette } from "./palette.ts";

const HEAD_PX = 5;
const TAG_PX = 16;
const PADDING_PX = 5;
const MOST_TAGS = 16;
const LONGEST_NAME = 28;

export interface ArrowStyle {
  readonly thick: number;
  readonly opacity: number;
}

/** The name of an end beyond the edge, where it was drawn. */
export interface Tag {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly place: Place;
}

interface End {
  readonly x: number;
  readonly y: number;
  /** How the eye gets there from the edge; "" when it is on the screen. */
  readonly beyond: "" | "←" | "→" | "↑" | "↓";
}

/** The row's top and height on the screen; null when the lane is not on it. */
export function laneAt(screen: Screen, place: Place): { y: number; height: number } | null {
  const row = screen.rows.find((each) => each.track === place.track && each.lane === place.lane);
  return row ? { y: row.y + 2, height: Math.max(1, row.height - 1) } : null;
}

/** Where an arrow's end stands: on its lane, or at the edge of the stage towards it. */
function endOf(screen: Screen, place: Place): End {
  const lane = laneAt(screen, place);
  const x = xOf(screen, place.begin_ps);
  if (lane) {
    const beyond = x < 0 ? "←" : x > screen.width ? "→" : "";
    return { x, y: lane.y + lane.height / 2, beyond };
  }
  const first = screen.rows.find((row) => !row.pinned);
  const above = first !== undefined && place.track < first.track;
  return above
    ? { x, y: screen.pinnedHeight + 4, beyond: "↑" }
    : { x, y: screen.height - 4, beyond: "↓" };
}

export function paintArrows(
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

function isApart(screen: Screen, from: End, to: End): boolean {
  return Math.max(from.x, to.x) < 0 || Math.min(from.x, to.x) > screen.width;
}

function paintArrow(context: CanvasRenderingContext2D, screen: Screen, arrow: FlowArrow): void {
  const from = endOf(screen, arrow.from);
  const to = endOf(screen, arrow.to);
  if (isApart(screen, from, to)) return;
  const bend = Math.min(60, Math.max(12, Math.abs(to.x - from.x) / 2));
  context.setLineDash(from.beyond || to.beyond ? [4, 3] : []);
  context.beginPath();
  context.moveTo(from.x, from.y);
  context.bezierCurveTo(from.x + bend, from.y, to.x - bend, to.y, to.x, to.y);
  context.stroke();
  context.setLineDash([]);
  if (to.beyond) return;
  context.beginPath();
  context.moveTo(to.x, to.y);
  context.lineTo(to.x - HEAD_PX, to.y - HEAD_PX * 0.7);
  context.lineTo(to.x - HEAD_PX, to.y + HEAD_PX * 0.7);
  context.fill();
}

/**
 * Names the ends that are beyond the edges, each event once, one below the other where they meet.
 *
 * @param trackName name of a track, to be shown
 * @returns where the names are
 */
export function paintTags(
  context: CanvasRenderingContext2D,
  screen: Screen,
  arrows: readonly FlowArrow[],
  palette: Palette,
  trackName: (track: number) => string,
): readonly Tag[] {
  const tags: Tag[] = [];
  const told = new Set<number>();
  context.font = LABEL_FONT;
  context.textBaseline = "middle";
  context.textAlign = "left";
  for (const arrow of arrows) {
    const from = endOf(screen, arrow.from);
    const to = endOf(screen, arrow.to);
    if (isApart(screen, from, to)) continue;
    for (const [end, place] of [
      [from, arrow.from],
      [to, arrow.to],
    ] as const) {
      if (!end.beyond || told.has(place.event) || tags.length === MOST_TAGS) continue;
      told.add(place.event);
      const name =
        place.name.length > LONGEST_NAME ? `${place.name.slice(0, LONGEST_NAME)}…` : place.name;
      const text = `${end.beyond} ${name} · ${trackName(place.track)}`;
      const tag = placed(screen, end, context.measureText(text).width, place, tags);
      if (!tag) continue;
      tags.push(tag);
      context.fillStyle = palette.theme.panel;
      context.fillRect(tag.x, tag.y, tag.width, tag.height);
      context.strokeStyle = palette.flow;
      context.lineWidth = 1;
      context.strokeRect(tag.x + 0.5, tag.y + 0.5, tag.width - 1, tag.height - 1);
      context.fillStyle = palette.theme.fg;
      context.fillText(text, tag.x + PADDING_PX, tag.y + tag.height / 2 + 0.5);
    }
  }
  return tags;
}

/** A free place for a tag at its end: towards the middle of the screen, past those there are. */
function placed(
  screen: Screen,
  end: End,
  textWidth: number,
  place: Place,
  others: readonly Tag[],
): Tag | null {
  const width = Math.min(textWidth + 2 * PADDING_PX, screen.width);
  const x = Math.min(Math.max(0, end.x - width / 2), screen.width - width);
  const step = end.y > screen.height / 2 ? -TAG_PX - 1 : TAG_PX + 1;
  let y = Math.min(Math.max(screen.pinnedHeight, end.y - TAG_PX / 2), screen.height - TAG_PX);
  const taken = () =>
    others.some(
      (each) => x < each.x + each.width && each.x < x + width && Math.abs(each.y - y) < TAG_PX,
    );
  while (taken()) {
    y += step;
    if (y < 0 || y > screen.height - TAG_PX) return null;
  }
  return { x, y, width, height: TAG_PX, place };
}
