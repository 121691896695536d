/** Ticks of an axis of times, in one unit for all of them. */

import { roundTicks } from "./round.ts";

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
  const { values, texts } = roundTicks(0, Math.max(topMs, 1e-9) / scale, about);
  return {
    values: values.map((value) => value * scale),
    labels: values.map((value, i) => (value === 0 ? "0" : `${texts[i]} ${unit}`)),
  };
}
