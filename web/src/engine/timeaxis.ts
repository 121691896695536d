/** Ticks of an axis of times, in one unit for all of them. */

import { scaleLinear } from "d3-scale";

export interface TimeTicks {
  /** In the unit of the domain, ms. */
  readonly values: readonly number[];
  readonly labels: readonly string[];
}

const UNITS: readonly (readonly [string, number])[] = [
  ["ns", 1e-6],
  ["µs", 1e-3],
  ["ms", 1],
  ["s", 1000],
];

/** Round ticks between 0 and `topMs`, each labelled with its unit. */
export function timeTicks(topMs: number, about: number): TimeTicks {
  const [unit, scale] =
    UNITS.findLast(([, size]) => topMs >= size * 2) ?? (UNITS[0] as readonly [string, number]);
  const axis = scaleLinear([0, Math.max(topMs, 1e-9) / scale], [0, 1]);
  const format = axis.tickFormat(about);
  const ticks = axis.ticks(about);
  return {
    values: ticks.map((tick) => tick * scale),
    labels: ticks.map((tick) => (tick === 0 ? "0" : `${format(tick)} ${unit}`)),
  };
}
