/** The series that a comparison can show: over which runs, and how it is called. */

export interface RunSeries {
  /** The run it begins with; it ends with the one looked at. */
  readonly from: string;
  readonly name: string;
}

/**
 * From the run compared with, or, where none lies between that and this one, from the farther end.
 *
 * @param runs all there are, newest first
 * @param run the one looked at
 * @param baseline the one compared with
 * @returns null where neither end has a run between
 */
export function seriesFrom(
  runs: readonly string[],
  run: string,
  baseline: string,
): RunSeries | null {
  const place = runs.indexOf(run);
  const last = runs.length - 1;
  if (place < 0) return null;
  const isApart = (other: number) => other >= 0 && Math.abs(other - place) > 1;
  const given = runs.indexOf(baseline);
  const end = last - place >= place ? last : 0;
  const begin = isApart(given) ? given : end;
  const from = runs[begin];
  if (from === undefined || !isApart(begin)) return null;
  if (Math.abs(begin - place) === last) return { from, name: "All runs" };
  if (begin === last) return { from, name: "Runs since the oldest" };
  return { from, name: begin === 0 ? "Runs up to the newest" : "Runs between" };
}
