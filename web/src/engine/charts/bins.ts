/** More steps than pixels: which step a bar stands for. */

import { roundTicks } from "../axes/round.ts";

export interface Bin {
  /** First and last index it covers, both included. */
  readonly first: number;
  readonly last: number;
  /** The index with the greatest value: the bar shows this one, so that no spike is averaged away. */
  readonly shown: number;
}

/**
 * Divides indices `from … to` (both included) into at most `most` bins of equal width.
 *
 * @param values one number per index; NaN counts as the smallest.
 */
export function slowestBins(
  values: ArrayLike<number>,
  from: number,
  to: number,
  most: number,
): Bin[] {
  const width = Math.max(1, Math.ceil((to - from + 1) / Math.max(1, most)));
  const bins: Bin[] = [];
  for (let first = from; first <= to; first += width) {
    const last = Math.min(to, first + width - 1);
    let shown = first;
    for (let i = first + 1; i <= last; i++) {
      if (!((values[i] as number) <= (values[shown] as number))) shown = i;
    }
    bins.push({ first, last, shown });
  }
  return bins;
}

/**
 * The bins that hold round step numbers, for the labels of an axis.
 *
 * @param numbers the step number of each index, rising
 * @param about how many labels there is room for
 */
export function numberedBins(
  bins: readonly Bin[],
  numbers: ArrayLike<number>,
  about: number,
): { place: number; number: number }[] {
  const first = numbers[bins[0]?.first ?? 0] as number;
  const last = numbers[bins.at(-1)?.last ?? 0] as number;
  const wanted = roundTicks(first, last, about).values.filter(Number.isInteger);
  const found: { place: number; number: number }[] = [];
  let place = 0;
  for (const number of wanted) {
    while (place < bins.length && (numbers[(bins[place] as Bin).last] as number) < number)
      place += 1;
    const bin = bins[place];
    if (bin && (numbers[bin.first] as number) <= number) found.push({ place, number });
  }
  return found;
}
