/** Slices as pixels: one line of pixels per lane, which the page stretches to the lane's height. */

import type { Span } from "../../base/timeline.ts";
import { BEGINS_BEFORE, firstEndingAt, type Tile } from "./tile.ts";

/** Shades per colour: how much of a merged slice is busy. */
export const SHADES = 16;

export interface Strip {
  /** RGBA, `width` to a row. */
  readonly pixels: Uint32Array;
  readonly width: number;
  readonly view: Span;
}

/** Colours by `colour * 16 + shade`, and as well those of a slice's first pixel. */
export interface Shading {
  readonly colours: Uint32Array;
  readonly edges: Uint32Array;
}

const EDGE_FROM_PX = 4;

/**
 * Draws one lane of a tile.
 *
 * @param row line of `strip` to draw on
 * @param tileRow line of `tile` to draw
 * @param clip stretch of time that may be drawn on
 * @param colourOf colour of each slice of the tile
 */
export function rasterRow(
  strip: Strip,
  row: number,
  tile: Tile,
  tileRow: number,
  clip: Span,
  colourOf: Uint8Array,
  shading: Shading,
): void {
  const { pixels, width, view } = strip;
  const scale = width / (view.end - view.begin);
  const left = Math.max(0, Math.floor((clip.begin - view.begin) * scale));
  const right = Math.min(width, Math.ceil((clip.end - view.begin) * scale));
  if (left >= right) return;
  const { x0, x1, fill, kind, unit } = tile;
  const offset = (tile.begin - view.begin) * scale;
  const step = unit * scale;
  const high = tile.rowBegin[tileRow + 1] as number;
  const seen = Math.max(clip.begin, view.begin);
  const start = (seen - tile.begin) / unit - 1;
  const base = row * width;
  let i = firstEndingAt(tile, tile.rowBegin[tileRow] as number, high, start);
  for (; i < high; i++) {
    const from = offset + (x0[i] as number) * step;
    if (from >= right) break;
    const to = offset + (x1[i] as number) * step;
    let a = Math.floor(from + 0.5);
    let b = Math.floor(to + 0.5);
    if (b <= a) b = a + 1;
    if (a < left) a = left;
    if (b > right) b = right;
    if (a >= b) continue;
    const shade = (colourOf[i] as number) * SHADES + ((fill[i] as number) >> 4);
    const colour = shading.colours[shade] as number;
    if (b - a === 1) {
      pixels[base + a] = colour;
      continue;
    }
    pixels.fill(colour, base + a, base + b);
    const begins = ((kind[i] as number) & BEGINS_BEFORE) === 0 && from >= left;
    if (begins && b - a >= EDGE_FROM_PX) pixels[base + a] = shading.edges[shade] as number;
  }
}
