/** Geometry of a roofline: ceilings over operational intensity, both axes logarithmic. */

export interface Ceiling {
  /** The memories it belongs to: those with equal bandwidth share one. */
  readonly memories: readonly string[];
  /** Intensity from which the FLOP rate is the limit, FLOP/B. */
  readonly ridge: number;
  /** Greatest FLOP rate, GFLOP/s. */
  readonly peak: number;
}

export interface Extent {
  readonly x: readonly [number, number];
  readonly y: readonly [number, number];
}

/** Ceilings from the corners that the server gives: of each memory the first one at its peak. */
export function ceilingsOf(
  memories: readonly string[],
  intensities: ArrayLike<number>,
  rates: ArrayLike<number>,
): Ceiling[] {
  const found: { memories: string[]; ridge: number; peak: number }[] = [];
  for (const memory of new Set(memories)) {
    const rows = memories.flatMap((each, row) => (each === memory ? [row] : []));
    const peak = Math.max(...rows.map((row) => rates[row] as number));
    const ridge = Math.min(
      ...rows.filter((row) => rates[row] === peak).map((row) => intensities[row] as number),
    );
    if (!(peak > 0 && ridge > 0 && Number.isFinite(ridge))) continue;
    const same = found.find((each) => each.ridge === ridge && each.peak === peak);
    if (same) same.memories.push(memory);
    else found.push({ memories: [memory], ridge, peak });
  }
  return found;
}

/** Margins around what is shown, as factors. */
const ASIDE = 4;
const ABOVE = 2.5;

/** Axes that hold all points, and of each ceiling its ridge. Values that are not positive are none. */
export function extentOf(
  xs: ArrayLike<number>,
  ys: ArrayLike<number>,
  ceilings: readonly Ceiling[],
): Extent {
  const positive = (values: ArrayLike<number>) => Array.from(values).filter((value) => value > 0);
  const x = [...positive(xs), ...ceilings.map(({ ridge }) => ridge)];
  const y = [...positive(ys), ...ceilings.map(({ peak }) => peak)];
  if (x.length === 0 || y.length === 0) return { x: [0.01, 1000], y: [0.1, 1000] };
  const low = (values: readonly number[]) => values.reduce((a, b) => Math.min(a, b));
  const high = (values: readonly number[]) => values.reduce((a, b) => Math.max(a, b));
  return { x: [low(x) / ASIDE, high(x) * ASIDE], y: [low(y) / ASIDE, high(y) * ABOVE] };
}

/**
 * The slope of a ceiling within the axes, from its lower end to its ridge; null when all of it lies
 * outside. On the slope the rate is intensity times bandwidth.
 */
export function slopeOf(
  { ridge, peak }: Ceiling,
  { x, y }: Extent,
): { readonly x1: number; readonly y1: number; readonly x2: number; readonly y2: number } | null {
  const bandwidth = peak / ridge;
  const from = Math.max(x[0], y[0] / bandwidth);
  const to = Math.min(x[1], ridge);
  if (!(from < to)) return null;
  return { x1: from, y1: from * bandwidth, x2: to, y2: to * bandwidth };
}

/**
 * The intensity from which a rate is the limit under the steepest of the ceilings; null without
 * ceilings.
 */
export function ridgeAt(rate: number, ceilings: readonly Ceiling[]): number | null {
  const bandwidths = ceilings.map(({ ridge, peak }) => peak / ridge);
  return bandwidths.length === 0 ? null : rate / Math.max(...bandwidths);
}
