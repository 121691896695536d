/** Two recordings on one axis: how far apart the same step begins in both. */

import type { Span, TimelineMeta } from "../../base/timeline.ts";

export interface Alignment {
  /** What is added to a time of the first to have that of the second, ps. */
  readonly offset: number;
  /** Number of the step that begins at once in both; null where one has no steps. */
  readonly step: number | null;
}

/**
 * @param wanted number of the step; null: the first that both have and that the view of the first shows
 */
export function aligned(
  first: TimelineMeta,
  second: TimelineMeta,
  wanted: number | null,
  view: Span,
): Alignment {
  const begins = beginsOf(first);
  const others = beginsOf(second);
  const shared = [...begins].filter(([num]) => others.has(num));
  const [num, begin] =
    shared.find(([each]) => each === wanted) ??
    shared.find(([, at]) => at >= view.begin && at < view.end) ??
    shared[0] ??
    [];
  if (num !== undefined && begin !== undefined) {
    return { offset: (others.get(num) as number) - begin, step: num };
  }
  // No number in common: the first steps, or else the beginnings.
  const start = [...begins.values()][0] ?? first.begin_ps;
  return { offset: ([...others.values()][0] ?? second.begin_ps) - start, step: null };
}

/** When each step of the first host that has any begins. */
function beginsOf(meta: TimelineMeta): ReadonlyMap<number, number> {
  const steps = meta.steps[0];
  return new Map((steps?.num ?? []).map((num, i) => [num, steps?.begin_ps[i] as number] as const));
}

export function shifted(span: Span, offset: number): Span {
  return { begin: span.begin + offset, end: span.end + offset };
}
