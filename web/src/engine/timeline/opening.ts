/** What a timeline shows before anybody moves it. */

import type { Span, TimelineMeta } from "../../base/timeline.ts";
import { framed } from "./viewport.ts";

/** Steps that take less of the recording than this would be slivers in the middle of nothing. */
const SMALL_SHARE = 0.5;
/** Beside what fills the view, as a part of it. */
const AIR = 0.02;

/** All of a recording, with a little air. */
export function allOf(whole: Span): Span {
  return framed(whole, whole, AIR);
}

/** The steps, where they are a small part of the recording or all that has events; else all. */
export function opening(meta: TimelineMeta, whole: Span): Span {
  const steps = {
    begin: Math.min(...meta.steps.map(({ begin_ps }) => least(begin_ps))),
    end: -Math.min(...meta.steps.map(({ end_ps }) => least(end_ps.map((time) => -time)))),
  };
  const share = (steps.end - steps.begin) / (whole.end - whole.begin);
  if (!(share > 0)) return allOf(whole);
  if (share < SMALL_SHARE) return framed(steps, whole);
  return hasEventsBeside(meta, steps) ? allOf(whole) : framed(steps, whole, AIR);
}

function least(times: readonly number[]): number {
  return times.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
}

/** Kinds of tracks on which nothing works: numbers, and what recorders say of themselves. */
const ASIDE: readonly string[] = ["counter", "other"];

/** Whether threads or devices did anything well before or after a span. */
function hasEventsBeside(meta: TimelineMeta, { begin, end }: Span): boolean {
  const air = (end - begin) * AIR;
  return meta.tracks.some(
    ({ kind, events, begin_ps, end_ps }) =>
      events > 0 && !ASIDE.includes(kind) && (begin_ps < begin - air || end_ps > end + air),
  );
}
