/** The stretch of time on the screen, and what moving the hand makes of it. */

import type { Span } from "../../base/timeline.ts";

/** Nothing is shorter than 1 ps; a hundred of them fill the screen. */
const SHORTEST_PS = 100;
/** How far one may look beyond the ends of the trace, as a part of the view. */
const BEYOND = 0.5;

export function clampSpan(span: Span, whole: Span): Span {
  const room = (whole.end - whole.begin) * 1.1;
  const length = Math.min(Math.max(span.end - span.begin, SHORTEST_PS), room);
  const middle = (span.begin + span.end) / 2;
  const margin = length * BEYOND;
  const begin = Math.min(
    Math.max(middle - length / 2, whole.begin - margin),
    whole.end + margin - length,
  );
  return { begin, end: begin + length };
}

/** `factor` < 1 goes nearer; the time at the share `at` (0–1) of the view stays where it is. */
export function zoomed(span: Span, factor: number, at: number, whole: Span): Span {
  const length = span.end - span.begin;
  const longest = (whole.end - whole.begin) * 1.1;
  const next = Math.min(Math.max(length * factor, SHORTEST_PS), longest);
  const begin = span.begin + at * (length - next);
  return clampSpan({ begin, end: begin + next }, whole);
}

export function panned(span: Span, by: number, whole: Span): Span {
  return clampSpan({ begin: span.begin + by, end: span.end + by }, whole);
}

/** The span with some air at both sides. */
export function framed(span: Span, whole: Span, air = 0.15): Span {
  const margin = Math.max((span.end - span.begin) * air, SHORTEST_PS / 2);
  return clampSpan({ begin: span.begin - margin, end: span.end + margin }, whole);
}

/** The same span moved as little as needed to hold `inner`; widened only when it must be. */
export function revealing(span: Span, inner: Span, whole: Span): Span {
  const length = span.end - span.begin;
  if (inner.end - inner.begin > length) return framed(inner, whole);
  const edge = Math.min(length * 0.1, (length - (inner.end - inner.begin)) / 2);
  if (inner.begin < span.begin + edge) {
    return clampSpan({ begin: inner.begin - edge, end: inner.begin - edge + length }, whole);
  }
  if (inner.end > span.end - edge) {
    return clampSpan({ begin: inner.end + edge - length, end: inner.end + edge }, whole);
  }
  return span;
}

export function sameSpan(a: Span | null, b: Span | null): boolean {
  return a === b || (a !== null && b !== null && a.begin === b.begin && a.end === b.end);
}
