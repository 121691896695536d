/** The unit that a column is shown in: the one that suits its largest value. */

import type { ColumnMeta } from "../../base/columns.ts";
import { isTimeUnit, type TimeUnit } from "../../base/format.ts";

export interface ColumnUnit {
  /** Factor from a stored value to the one shown. */
  readonly scale: number;
  /** As printed in the heading; "" for none. */
  readonly unit: string;
}

const SECONDS: Readonly<Record<TimeUnit, number>> = {
  ps: 1e-12,
  ns: 1e-9,
  µs: 1e-6,
  ms: 1e-3,
  s: 1,
};
const UNITS = Object.entries(SECONDS) as [TimeUnit, number][];
/** Five digits before the point are too many to compare at a glance. */
const TOO_MANY = 1e4;
const TOO_FEW = 0.1;

export function unitOf(meta: ColumnMeta, max: number): ColumnUnit {
  // Ratios are stored 0–1 and shown in per cent.
  if (meta.kind === "ratio") return { scale: 100, unit: meta.unit };
  if (meta.kind !== "time" || !isTimeUnit(meta.unit) || isMoment(meta)) {
    return { scale: 1, unit: meta.unit };
  }
  const stored = SECONDS[meta.unit];
  if (!(max > 0) || (max < TOO_MANY && max >= TOO_FEW)) return { scale: 1, unit: meta.unit };
  const seconds = max * stored;
  const [unit, size] =
    UNITS.findLast(([, each]) => seconds >= each) ?? (UNITS[0] as [TimeUnit, number]);
  return { scale: Number((stored / size).toPrecision(12)), unit };
}

/** Whether a column tells when something happened: its digits tell rows apart. */
export function isMoment({ name }: ColumnMeta): boolean {
  return /^(start|begin|end)_/.test(name) || /_(start|begin)_/.test(name);
}

/**
 * A bound as typed, in the unit that is stored: with a unit of its own ("5 ms"), else in the one
 * shown. NaN where it is not a number.
 */
export function storedValue(typed: string, meta: ColumnMeta, shown: ColumnUnit): number {
  const match = /^\s*([-+]?[\d.,]+(?:e[-+]?\d+)?)\s*(ps|ns|us|µs|ms|s|%)?\s*$/i.exec(typed);
  if (!match) return Number.NaN;
  const value = Number((match[1] as string).replaceAll(",", ""));
  const unit = match[2] === "us" ? "µs" : match[2];
  if (unit && isTimeUnit(unit) && isTimeUnit(meta.unit)) {
    return Number(((value * SECONDS[unit]) / SECONDS[meta.unit]).toPrecision(12));
  }
  // Divided: 57 * 0.01 is more than 0.57.
  return value / shown.scale;
}

/** A bound with the unit it was typed in, so that it means the same in any other recording. */
export function withUnit(typed: string, meta: ColumnMeta, shown: ColumnUnit): string {
  const bare = /^\s*[-+]?[\d.,]+(e[-+]?\d+)?\s*$/i.test(typed);
  return bare && meta.kind === "time" && isTimeUnit(shown.unit)
    ? `${typed.trim()} ${shown.unit}`
    : typed.trim();
}
