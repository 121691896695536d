/** Geometry of stacked columns. */

import type { Bin } from "./bins.ts";

export interface Layer {
  readonly id: string;
  readonly values: Float64Array;
}

/** Linear map from values to px. */
export type ToPx = (value: number) => number;

/**
 * One path per layer, so that a thousand columns are a handful of elements.
 *
 * @param left x of a bin's left edge, by its place
 * @param width drawn width of a bar, px
 * @param cap bars are cut at this value
 */
export function stackPaths(
  layers: readonly Layer[],
  bins: readonly Bin[],
  left: (place: number) => number,
  width: number,
  y: ToPx,
  cap: number,
): string[] {
  const base = new Float64Array(bins.length);
  return layers.map(({ values }) => {
    const path: string[] = [];
    for (let place = 0; place < bins.length; place++) {
      const value = values[(bins[place] as Bin).shown] as number;
      if (!(value > 0)) continue;
      const from = base[place] as number;
      base[place] = from + value;
      const bottom = y(Math.min(cap, from));
      const top = y(Math.min(cap, from + value));
      if (bottom - top < 0.05) continue;
      path.push(
        `M${left(place).toFixed(2)} ${bottom.toFixed(2)}h${width.toFixed(2)}V${top.toFixed(2)}h${(-width).toFixed(2)}z`,
      );
    }
    return path.join("");
  });
}

/**
 * Where to cut the value axis: at the greatest value, or lower when a few columns are so tall that
 * the others could not be read.
 */
export function readableTop(values: ArrayLike<number>): { top: number; cut: number } {
  const sorted = Float64Array.from(values)
    .filter((value) => value > 0)
    .sort();
  const max = sorted[sorted.length - 1] ?? 0;
  const typical = sorted[Math.floor((sorted.length - 1) * 0.9)] ?? 0;
  const limit = typical * 1.6;
  if (max <= typical * 3) return { top: max, cut: 0 };
  return { top: limit, cut: sorted.filter((value) => value > limit).length };
}
