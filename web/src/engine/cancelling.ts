/** Changes of one sign that hide those of the other in their sum. */

export interface PartChange {
  readonly name: string;
  readonly delta: number;
}

/** Share of the step that a change must have to be worth a word. */
const WORTH_FRAC = 0.05;
/** The larger of the two must be this many times their sum. */
const HIDDEN_BY = 4;

/**
 * The largest growth and the largest shrinkage, where together they all but cancel; null otherwise.
 *
 * @param whole time of the step before
 */
export function cancelling(
  changes: readonly PartChange[],
  whole: number,
): readonly [PartChange, PartChange] | null {
  const sum = changes.reduce((total, { delta }) => total + delta, 0);
  const grown = changes.reduce<PartChange | null>(
    (most, each) => (each.delta > (most?.delta ?? 0) ? each : most),
    null,
  );
  const shrunk = changes.reduce<PartChange | null>(
    (most, each) => (each.delta < (most?.delta ?? 0) ? each : most),
    null,
  );
  if (!grown || !shrunk || !(whole > 0)) return null;
  const size = Math.min(grown.delta, -shrunk.delta);
  if (size < WORTH_FRAC * whole || Math.abs(sum) * HIDDEN_BY > size) return null;
  return [shrunk, grown];
}
