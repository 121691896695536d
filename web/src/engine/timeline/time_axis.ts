/** The timeline's axis: where its ticks are, and times on it as text. */

import { fixed, significant } from "../../base/format.ts";
import type { Span } from "../../base/timeline.ts";
import { roundAtLeast, roundValues } from "../axes/round.ts";

const UNITS = [
  ["s", 1e12, 9],
  ["ms", 1e9, 6],
  ["µs", 1e6, 3],
  ["ns", 1e3, 3],
  ["ps", 1, 0],
] as const;

/** Times of the ruler's ticks: round numbers since `origin`, at least `apart` px from each other. */
export function rulerTicks(span: Span, width: number, apart: number, origin: number): number[] {
  const least = ((span.end - span.begin) / width) * apart;
  const step = Math.max(1, roundAtLeast(least));
  return roundValues(span.begin - origin, span.end - origin, step).map((time) => origin + time);
}

/** A time since the beginning of the trace, to the nanosecond (below 1 µs: to the ps). */
export function axisTime(ps: number): string {
  const size = Math.abs(ps);
  const [unit, scale, decimals] = UNITS.find(([, each]) => size >= each) ?? (["ps", 1, 0] as const);
  return `${fixed(ps / scale, decimals)} ${unit}`;
}

/** A tick's time, with as many digits as tell it from the next, `step` ps away. */
export function tickTime(ps: number, step: number): string {
  if (ps === 0) return "0";
  const [unit, scale] = UNITS.find(([, each]) => Math.abs(ps) >= each) ?? (["ps", 1] as const);
  const decimals = Math.max(0, -Math.floor(Math.log10(step / scale) + 1e-9));
  return `${fixed(ps / scale, Math.min(decimals, 12))} ${unit}`;
}

/** How often a length of time fits a second. */
export function rateText(ps: number): string {
  const hertz = 1e12 / Math.max(1, ps);
  const units = [
    ["GHz", 1e9],
    ["MHz", 1e6],
    ["kHz", 1e3],
    ["Hz", 1],
  ] as const;
  const [unit, size] = units.find(([, each]) => hertz >= each) ?? (["Hz", 1] as const);
  return `${significant(hertz / size)} ${unit}`;
}
