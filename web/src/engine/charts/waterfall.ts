/** A waterfall: from one total to another, part by part. */

export interface Change {
  readonly name: string;
  readonly delta: number;
}

export interface Bar {
  readonly name: string;
  /** Smaller and larger end of the bar, in the unit of the values. */
  readonly from: number;
  readonly to: number;
  /** What it adds; null for the totals at both ends. */
  readonly delta: number | null;
  /** Where the next bar begins. */
  readonly end: number;
}

export interface Waterfall {
  readonly bars: readonly Bar[];
  /** Range of the axis. */
  readonly low: number;
  readonly high: number;
}

/** Zooming in on the changes must leave them room beside the totals. */
const LEAST_SHARE = 0.3;

/**
 * @param before the first total
 * @param changes what leads from it to the second total, in any order; the largest are shown
 * @param most how many changes stand for themselves; the others are one bar
 */
export function waterfall(before: number, changes: readonly Change[], most: number): Waterfall {
  const sorted = [...changes].sort((a, b) => Math.abs(b.delta) - Math.abs(a.delta));
  const named = sorted.slice(0, most).filter((change) => change.delta !== 0);
  const others = sorted.slice(named.length);
  const rest = others.reduce((sum, change) => sum + change.delta, 0);
  const shown = [...named];
  if (others.some((change) => change.delta !== 0)) {
    shown.push({ name: `${others.length} others`, delta: rest });
  }
  const bars: Bar[] = [{ name: "Before", from: 0, to: before, delta: null, end: before }];
  let at = before;
  for (const { name, delta } of shown) {
    const end = at + delta;
    bars.push({ name, from: Math.min(at, end), to: Math.max(at, end), delta, end });
    at = end;
  }
  bars.push({ name: "After", from: 0, to: at, delta: null, end: at });
  return { bars, ...range(bars) };
}

/** The axis from 0, or from just below the changes where they are small against the totals. */
function range(bars: readonly Bar[]): { low: number; high: number } {
  const changes = bars.filter((bar) => bar.delta !== null);
  const high = Math.max(...bars.map((bar) => bar.to));
  if (changes.length === 0) return { low: 0, high };
  const ends = bars.filter((bar) => bar.delta === null).map((bar) => bar.to);
  const lowest = Math.min(...ends, ...changes.map((bar) => bar.from));
  const spread = high - lowest;
  if (spread >= LEAST_SHARE * high) return { low: 0, high };
  return { low: Math.max(0, lowest - spread), high };
}
