/** Ticks of value axes: round numbers in one unit for the whole axis, each with its unit. */

import { count } from "../../base/format.ts";
import { roundTicks } from "./round.ts";

export interface Ticks {
  /** In the unit of the data. */
  readonly values: readonly number[];
  readonly labels: readonly string[];
}

/** Ticks between two values, about as many as asked for. */
export type TicksOf = (from: number, to: number, about: number) => Ticks;

const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"] as const;

/** Sizes: round in the binary unit that suits the greatest of them. */
export const byteTicks: TicksOf = (from, to, about) => {
  const most = Math.max(Math.abs(from), Math.abs(to));
  let step = 0;
  while (step < BYTE_UNITS.length - 1 && most >= 2 * 1024 ** (step + 1)) step += 1;
  return inUnit(from, to, about, 1024 ** step, BYTE_UNITS[step] ?? "B");
};

const TIME_UNITS: readonly (readonly [string, number])[] = [
  ["ns", 1e-6],
  ["µs", 1e-3],
  ["ms", 1],
  ["s", 1000],
];

/** Moments or times in ms. A narrow stretch far from 0 takes a smaller unit, not more decimals. */
export const momentTicks: TicksOf = (from, to, about) => {
  const most = Math.max(Math.abs(from), Math.abs(to));
  let unit = Math.max(
    0,
    TIME_UNITS.findLastIndex(([, size]) => most >= size * 2),
  );
  while (unit > 0 && to - from < 0.02 * (TIME_UNITS[unit]?.[1] ?? 1)) unit -= 1;
  const [name, size] = TIME_UNITS[unit] as readonly [string, number];
  return inUnit(from, to, about, size, name);
};

/** Fractions as per cent. */
export const shareTicks: TicksOf = (from, to, about) => {
  const { values, texts } = roundTicks(from * 100, to * 100, about);
  return { values: values.map((value) => value / 100), labels: texts.map((text) => `${text}%`) };
};

/** Whole numbers without a unit: places in an order, counts. */
export const wholeTicks: TicksOf = (from, to, about) => {
  const values = roundTicks(from, to, about).values.filter(Number.isInteger);
  return { values, labels: values.map(count) };
};

const ABOUT_PX = 110;
const LONGEST_NAME = 19;

/**
 * Names at the places 0, 1, …: every one where there is room, else evenly spaced ones.
 *
 * @param px room that a name takes; charts ask for a tick about every 110 px
 */
export function placeTicks(names: readonly string[], px: number): TicksOf {
  return (_from, _to, about) => {
    const most = Math.max(1, Math.floor((about * ABOUT_PX) / px));
    const stride = Math.max(1, Math.ceil(names.length / most));
    const values = names.map((_, place) => place).filter((place) => place % stride === 0);
    return { values, labels: values.map((place) => endOf(names[place] ?? "")) };
  };
}

/** Names of runs differ at their end. */
function endOf(name: string): string {
  return name.length <= LONGEST_NAME ? name : `…${name.slice(1 - LONGEST_NAME)}`;
}

function inUnit(from: number, to: number, about: number, size: number, unit: string): Ticks {
  const { values, texts } = roundTicks(from / size, to / size, about);
  return {
    values: values.map((value) => value * size),
    labels: values.map((value, i) => (value === 0 ? "0" : `${texts[i]} ${unit}`)),
  };
}

/**
 * Powers of ten between two positive values, thinned out to about as many as there is room for.
 *
 * @param label text of a value, with its unit
 */
export function powerTicks(
  from: number,
  to: number,
  about: number,
  label: (value: number) => string = plainPower,
): Ticks {
  const first = Math.ceil(Math.log10(from) - 1e-9);
  const last = Math.floor(Math.log10(to) + 1e-9);
  const stride = Math.max(1, Math.ceil((last - first + 1) / Math.max(1, about)));
  const values: number[] = [];
  for (let power = first; power <= last; power += stride) values.push(10 ** power);
  return { values, labels: values.map(label) };
}

/** A power of ten without trailing zeros: 0.01, 1, 10,000, 1e6. */
export function plainPower(value: number): string {
  if (value >= 1e6 || value < 1e-4) return `1e${Math.round(Math.log10(value))}`;
  return value >= 1 ? count(value) : value.toPrecision(1);
}

/** A logarithmic map from values to px; both ends positive. */
export function logScale(
  from: number,
  to: number,
  fromPx: number,
  toPx: number,
): (value: number) => number {
  const perUnit = (toPx - fromPx) / Math.log(to / from);
  return (value) => fromPx + Math.log(value / from) * perUnit;
}
