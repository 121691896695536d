/** A counter: its value as steps, with the band between least and most of each bucket. */

import { bytes, significant } from "../../base/format.ts";
import { type Row, type Screen, xOf } from "../../engine/timeline/screen.ts";
import type { Counters, Tile } from "../../engine/timeline/tile.ts";
import type { Drawn } from "../../engine/timeline/tile_store.ts";
import { LABEL_FONT } from "./labels.ts";
import type { Palette } from "./palette.ts";

export interface CounterScale {
  readonly least: number;
  readonly most: number;
  /** Least value above 0; infinite where there is none. */
  readonly leastPositive: number;
}

/**
 * How high a value stands, 0–1. A logarithmic row begins at half of the least positive value, with 0
 * at its foot; a counter that falls below 0 has no logarithm and stays linear.
 */
export function counterShare(scale: CounterScale, isLog: boolean): (value: number) => number {
  const { least, most, leastPositive } = scale;
  const foot = leastPositive / 2;
  if (!isLog || least < 0 || !(most > foot)) {
    return (value) => (value - least) / (most - least);
  }
  const decades = Math.log(most / foot);
  return (value) => (value <= foot ? 0 : Math.log(value / foot) / decades);
}

/** Points of one counter in a tile: from, to; null when it is not in it. */
function pointsOf(counters: Counters, track: number): readonly [number, number] | null {
  const series = counters.track.indexOf(track);
  if (series < 0) return null;
  return [counters.begin[series] as number, counters.begin[series + 1] as number];
}

/** From 0, so that heights compare. */
export function counterScale(drawn: readonly Drawn[], track: number): CounterScale {
  let least = 0;
  let most = 0;
  let leastPositive = Number.POSITIVE_INFINITY;
  for (const { tile } of drawn) {
    const points = pointsOf(tile.counters, track);
    for (let i = points?.[0] ?? 0; i < (points?.[1] ?? 0); i++) {
      least = Math.min(least, tile.counters.least[i] as number);
      most = Math.max(most, tile.counters.most[i] as number);
      for (const value of [tile.counters.least[i], tile.counters.most[i]] as number[]) {
        if (value > 0 && value < leastPositive) leastPositive = value;
      }
    }
  }
  return { least, most: most > least ? most : least + 1, leastPositive };
}

export function paintCounter(
  context: CanvasRenderingContext2D,
  screen: Screen,
  row: Row,
  y: number,
  height: number,
  drawn: readonly Drawn[],
  palette: Palette,
  isLog: boolean,
): CounterScale {
  const scale = counterScale(drawn, row.track);
  const share = counterShare(scale, isLog);
  const top = (value: number) => y + height - share(value) * (height - 1);
  const zero = top(Math.max(0, scale.least));
  context.fillStyle = palette.counter;
  for (const { tile, clip } of drawn) {
    const points = pointsOf(tile.counters, row.track);
    if (!points) continue;
    const left = Math.max(0, xOf(screen, clip.begin));
    const right = Math.min(screen.width, xOf(screen, clip.end));
    for (let i = points[0]; i < points[1]; i++) {
      // Whole pixels: between fractions the translucent parts would show seams.
      const from = Math.round(Math.max(left, timeX(screen, tile, i)));
      const to = Math.round(
        Math.min(right, i + 1 < points[1] ? timeX(screen, tile, i + 1) : right),
      );
      if (to < left || from >= right) continue;
      const last = top(tile.counters.last[i] as number);
      const least = top(tile.counters.least[i] as number);
      const most = top(tile.counters.most[i] as number);
      const width = Math.max(to - from, 1);
      context.globalAlpha = 0.3;
      context.fillRect(from, Math.min(last, zero), to - from, Math.abs(zero - last));
      context.globalAlpha = 1;
      context.fillRect(from, last - 0.5, width, 1.5);
      if (least - most > 1) context.fillRect(from, most, Math.min(width, 1.5), least - most);
    }
  }
  return scale;
}

const LABEL_FROM_PX = 24;

/** What the top of the row stands for. */
export function paintScale(
  context: CanvasRenderingContext2D,
  most: number,
  unit: string,
  y: number,
  height: number,
  palette: Palette,
): void {
  if (height < LABEL_FROM_PX) return;
  context.font = LABEL_FONT;
  context.textBaseline = "top";
  context.fillStyle = palette.theme.fg;
  context.fillText(unit === "bytes" ? bytes(most) : `${significant(most)} ${unit}`, 4, y + 1);
}

function timeX(screen: Screen, tile: Tile, point: number): number {
  return xOf(screen, tile.begin + (tile.counters.x[point] as number) * tile.unit);
}

/** Value at a time, or null outside what is drawn. */
export function counterAt(drawn: readonly Drawn[], track: number, time: number): number | null {
  let value: number | null = null;
  for (const { tile, clip } of drawn) {
    const points = pointsOf(tile.counters, track);
    if (!points || clip.begin > time) continue;
    for (let i = points[0]; i < points[1]; i++) {
      if (tile.begin + (tile.counters.x[i] as number) * tile.unit > time) break;
      value = tile.counters.last[i] as number;
    }
  }
  return value;
}
