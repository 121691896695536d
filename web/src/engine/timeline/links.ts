/** Addresses of the timeline, as other pages give them: parameters for its page. */

import type { Place } from "../../base/timeline.ts";
import { withSubParams } from "../address.ts";
import { exactPattern } from "../exact_pattern.ts";

type Params = Readonly<Record<string, string>>;

const PS_PER_MS = 1e9;
// What is around a stretch of time, as a share of it on either side.
const AROUND = 0.25;
// What is around one event, in lengths of it on either side.
const AROUND_EVENT = 8;

/** The timeline on a stretch of time, which is selected. `where` names a device or section. */
export function spanParams(spanMs: readonly [number, number], where = ""): Params {
  const [begin, end] = [spanMs[0] * PS_PER_MS, Math.max(spanMs[1], spanMs[0]) * PS_PER_MS];
  const margin = Math.max((end - begin) * AROUND, 500);
  return withSubParams({}, "tl", {
    view: `${Math.round(begin - margin)}~${Math.round(end + margin)}`,
    range: `${Math.round(begin)}~${Math.max(Math.round(end), Math.round(begin) + 1)}`,
    ...(where ? { at: where } : {}),
  });
}

/** The timeline with all events of a name lit, on the first of them. */
export function eventParams(name: string, first: Place): Params {
  const margin = Math.max(1000, (first.end_ps - first.begin_ps) * AROUND_EVENT);
  return withSubParams({}, "tl", {
    view: `${Math.round(first.begin_ps - margin)}~${Math.round(first.end_ps + margin)}`,
    event: String(first.event),
    q: exactPattern(name),
    mode: "regex",
  });
}

/** The timeline on one event, by its id; times in µs of its axis, where they are known. */
export function eventIdParams(id: number, startUs: number, durationUs: number): Params {
  const length = Math.max(1000, (durationUs || 0) * 1e6);
  const begin = startUs * 1e6 - length * AROUND_EVENT;
  const end = (startUs + (durationUs || 0)) * 1e6 + length * AROUND_EVENT;
  const view = Number.isNaN(startUs) ? {} : { view: `${Math.round(begin)}~${Math.round(end)}` };
  return withSubParams({}, "tl", { ...view, event: String(id) });
}
