/** The timeline's axis: where its ticks are, and times on it as text. */

import { fixed } from "../../base/format.ts";
import type { Span } from "../../base/timeline.ts";
import { roundAtLeast, roundValues } from "../axes/round.ts";

const UNITS = [
  ["s", 1e12, 9],
  ["ms", 1e9, 6],
  ["µs", 1e6, 3],
  ["ns", 1e3, 3],
  ["ps", 1, 0],
] as const;

/** Times of the ruler's ticks: round numbers, at least `apart` px from each other. */
export function rulerTicks(span: Span, width: number, apart: number): number[] {
  const least = ((span.end - span.begin) / width) * apart;
  return roundValues(span.begin, span.end, Math.max(1, roundAtLeast(least)));
}

/** A time on the clock of the recording, as on every page, to the nanosecond (below 1 µs: to the ps). */
export function axisTime(ps: number): string {
  const size = Math.abs(ps);
  const [unit, scale, decimals] = UNITS.find(([, each]) => size >= each) ?? (["ps", 1, 0] as const);
  return `${fixed(ps / scale, decimals)} ${unit}`;
}

/** Clocks that count from 1970 are past this; others began with the machine. */
const WALL_FROM_NS = 10n ** 18n;

/** A time of the axis on the wall's clock, as logs have it; "" where the recording has none. */
export function wallTime(originNs: string, ps: number): string {
  const us = (BigInt(originNs) + BigInt(Math.round(ps / 1000))) / 1000n;
  if (BigInt(originNs) < WALL_FROM_NS) return "";
  const [day = "", time = ""] = new Date(Number(us / 1000n)).toISOString().split("T");
  return `${day} ${time.slice(0, 8)}.${String(us % 1_000_000n).padStart(6, "0")} UTC`;
}

/** A tick's time, with as many digits as tell it from the next, `step` ps away. */
export function tickTime(ps: number, step: number): string {
  if (ps === 0) return "0";
  const [unit, scale] = UNITS.find(([, each]) => Math.abs(ps) >= each) ?? (["ps", 1] as const);
  const decimals = Math.max(0, -Math.floor(Math.log10(step / scale) + 1e-9));
  return `${fixed(ps / scale, Math.min(decimals, 12))} ${unit}`;
}

/** From here on the part that all ticks have in common is shown once. */
const LONG_CHARACTERS = 9;

/**
 * Texts of neighbouring ticks. Where they would repeat the same digits, the first says its time and
 * the others how much later they are.
 */
export function tickTexts(times: readonly number[]): string[] {
  const [first, second] = times;
  if (first === undefined) return [];
  // A single tick, on a narrow page, has no neighbour: it takes four digits of its own.
  const step = second === undefined ? Math.abs(first) / 1000 : second - first;
  const full = times.map((time) => tickTime(time, step));
  if ((full[0]?.length ?? 0) <= LONG_CHARACTERS) return full;
  return times.map((time, place) =>
    place === 0 ? (full[0] as string) : `+${tickTime(time - first, step)}`,
  );
}
