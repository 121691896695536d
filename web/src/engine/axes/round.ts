/** Round numbers for axes: 1, 2 or 5 times a power of ten. */

import { fixed, significant } from "../../base/format.ts";

// Halfway, in ratio, between the steps 1, 2, 5 and 10: a wanted step takes the nearest of them.
const STEPS: readonly (readonly [number, number])[] = [
  [Math.sqrt(50), 10],
  [Math.sqrt(10), 5],
  [Math.sqrt(2), 2],
];

/** The round step that divides a span into about as many parts as asked for. */
function roundStep(span: number, about: number): number {
  const wanted = span / Math.max(1, about);
  const power = 10 ** Math.floor(Math.log10(wanted));
  return (STEPS.find(([from]) => wanted / power >= from)?.[1] ?? 1) * power;
}

/** The least round number that is not below a positive value. */
export function roundAtLeast(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5].find((each) => each * power >= value) ?? 10) * power;
}

/** The multiples of a step from `from` to `to`, both included. */
export function roundValues(from: number, to: number, step: number): number[] {
  const first = Math.ceil(from / step - 1e-9);
  const last = Math.floor(to / step + 1e-9);
  // Multiplying by 0.1 gives 0.30000000000000004; dividing by 10 does not.
  const inverse = Math.round(1 / step);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) =>
    step < 1 ? (first + i) / inverse : (first + i) * step,
  );
}

/** Decimals that tell neighbouring multiples of a step apart. */
function decimalsOf(step: number): number {
  return Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
}

export interface RoundTicks {
  readonly values: readonly number[];
  /** Each value with as many decimals as the step needs. */
  readonly texts: readonly string[];
}

/** Round numbers from `from` to `to`, both included where they are round. */
export function roundTicks(from: number, to: number, about: number): RoundTicks {
  const span = to - from;
  if (span === 0) return { values: [from], texts: [significant(from)] };
  if (!(span > 0) || !Number.isFinite(span)) return { values: [], texts: [] };
  const step = roundStep(span, about);
  const decimals = decimalsOf(step);
  const values = roundValues(from, to, step);
  return { values, texts: values.map((value) => fixed(value, decimals)) };
}
