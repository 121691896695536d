/** Geometry of lines and areas over a rising axis, with no more detail than there are pixels. */

export type ToPx = (value: number) => number;

/**
 * The last index whose `xs` is at most `x`; 0 before the first, -1 when there is none.
 *
 * @param xs rising, may hold equal values
 */
export function indexAt(xs: ArrayLike<number>, x: number): number {
  let low = 0;
  let high = xs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((xs[middle] as number) <= x) low = middle + 1;
    else high = middle;
  }
  return Math.min(xs.length - 1, Math.max(0, low - 1));
}

/** The index whose `xs` is nearest to `x`; -1 when there is none. */
export function nearestTo(xs: ArrayLike<number>, x: number): number {
  const before = indexAt(xs, x);
  if (before < 0 || before === xs.length - 1) return before;
  return x - (xs[before] as number) > (xs[before + 1] as number) - x ? before + 1 : before;
}

interface Column {
  readonly first: number;
  readonly last: number;
  readonly least: number;
  readonly most: number;
}

/**
 * Points of one pixel column become four: first, least, most, last. What is drawn covers the same
 * pixels as all points would.
 */
function* thinned(xs: ArrayLike<number>, ys: ArrayLike<number>, toX: ToPx): Generator<number> {
  let column: Column | null = null;
  let px = Number.NaN;
  for (let i = 0; i < xs.length; i++) {
    if (Number.isNaN(ys[i] as number)) continue;
    const at = Math.floor(toX(xs[i] as number));
    if (column && at === px) {
      column = {
        first: column.first,
        last: i,
        least: (ys[i] as number) < (ys[column.least] as number) ? i : column.least,
        most: (ys[i] as number) > (ys[column.most] as number) ? i : column.most,
      };
      continue;
    }
    if (column) yield* placesOf(column);
    column = { first: i, last: i, least: i, most: i };
    px = at;
  }
  if (column) yield* placesOf(column);
}

function placesOf({ first, last, least, most }: Column): number[] {
  return [...new Set([first, least, most, last])].sort((a, b) => a - b);
}

/**
 * A line through the points. NaN is skipped.
 *
 * @param stepwise a value holds until the next point, as levels do
 */
export function linePath(
  xs: ArrayLike<number>,
  ys: ArrayLike<number>,
  toX: ToPx,
  toY: ToPx,
  stepwise: boolean,
): string {
  const path: string[] = [];
  for (const i of thinned(xs, ys, toX)) {
    const x = toX(xs[i] as number).toFixed(1);
    const y = toY(ys[i] as number).toFixed(1);
    if (path.length === 0) path.push(`M${x} ${y}`);
    else path.push(stepwise ? `H${x}V${y}` : `L${x} ${y}`);
  }
  return path.join("");
}

/** The area between the line and the value `base`, up to `endPx`. */
export function areaPath(
  xs: ArrayLike<number>,
  ys: ArrayLike<number>,
  toX: ToPx,
  toY: ToPx,
  stepwise: boolean,
  endPx: number,
  base = 0,
): string {
  const line = linePath(xs, ys, toX, toY, stepwise);
  if (!line) return "";
  let start = 0;
  while (Number.isNaN(ys[start] as number)) start += 1;
  const floor = toY(base).toFixed(1);
  const end = stepwise ? endPx : toX(xs[xs.length - 1] as number);
  return `${line}H${end.toFixed(1)}V${floor}H${toX(xs[start] as number).toFixed(1)}Z`;
}

/** Each series on top of the sum of those before it. NaN counts as nothing. */
export function stacked(series: readonly ArrayLike<number>[]): Float64Array[] {
  let below: Float64Array | null = null;
  return series.map((values) => {
    const sum = Float64Array.from(values, (value, i) => (value || 0) + (below?.[i] ?? 0));
    below = sum;
    return sum;
  });
}

/** The greatest number among values, or 0. */
export function greatest(values: ArrayLike<number>): number {
  let most = 0;
  for (let i = 0; i < values.length; i++) {
    const value = values[i] as number;
    if (value > most) most = value;
  }
  return most;
}
