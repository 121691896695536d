/** What the counters of a report show within a range. */

import type { RangeCounter } from "../base/timeline.ts";
import { firstAtLeast, type Series } from "./events.ts";

/** Of the counters among `tracks`, null for all; one without a value in the range is left out. */
export function counterTotals(
  series: ReadonlyMap<number, Series>,
  begin: number,
  end: number,
  tracks: ReadonlySet<number> | null,
): RangeCounter[] {
  return [...series.values()]
    .filter(({ track }) => tracks === null || tracks.has(track.id))
    .flatMap((one) => totalsOf(one, begin - one.shift, end - one.shift));
}

function totalsOf({ track, shift, time, value }: Series, begin: number, end: number) {
  // Of values at the range's very begin the last one holds.
  const low = Math.max(firstAtLeast(time, begin + 1) - 1, 0);
  const high = firstAtLeast(time, end);
  if (low >= high) return [];
  const values = value.subarray(low, high);
  const times = time.subarray(low, high).map((at) => Math.max(at, begin));
  const peak = values.reduce((best, each, at) => (each > (values[best] as number) ? at : best), 0);
  let held = 0;
  let weighed = 0;
  values.forEach((each, at) => {
    const length = (times[at + 1] ?? end) - (times[at] as number);
    held += length;
    weighed += each * length;
  });
  const first = values[0] as number;
  const last = values[values.length - 1] as number;
  return [
    {
      track: track.id,
      unit: track.unit,
      first,
      last,
      change: last - first,
      least: values.reduce((a, b) => Math.min(a, b)),
      most: values[peak] as number,
      most_at_ps: (times[peak] as number) + shift,
      mean: weighed / held,
      changes: high - firstAtLeast(time, begin),
    },
  ];
}
