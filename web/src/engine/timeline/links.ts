/** Addresses of the timeline, as other pages give them, and selections as spans of time. */

import type { Span, TimelineMeta } from "../../base/timeline.ts";
import { type Selection, withSubParams } from "../address.ts";
import { exactPattern } from "../exact_pattern.ts";

type Params = Readonly<Record<string, string>>;

const PS_PER_MS = 1e9;
const UNIT_PS: Readonly<Record<string, number>> = {
  s: 1e12,
  ms: PS_PER_MS,
  us: 1e6,
  µs: 1e6,
  ns: 1e3,
  ps: 1,
};
const TIME = String.raw`\s*(-?[\d_]*\.?\d+)\s*(s|ms|us|µs|ns|ps)?\s*`;
const RANGE = new RegExp(`^(?:${TIME})?(?:-|–|\\.\\.)(?:${TIME})?$`);
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

/**
 * The timeline on one event, by its id; times in µs of its axis, where they are known. All events
 * of a name are lit, if it is given.
 */
export function eventIdParams(id: number, startUs: number, durationUs: number, name = ""): Params {
  const length = Math.max(1000, (durationUs || 0) * 1e6);
  const begin = startUs * 1e6 - length * AROUND_EVENT;
  const end = (startUs + (durationUs || 0)) * 1e6 + length * AROUND_EVENT;
  const view = Number.isNaN(startUs) ? {} : { view: `${Math.round(begin)}~${Math.round(end)}` };
  const lit = name ? { q: exactPattern(name), mode: "regex" } : {};
  return withSubParams({}, "tl", { ...view, event: String(id), ...lit });
}

/** The first section with one of the devices or ranks of a selection, as the server finds them. */
export function selectedSection({ device }: Selection, meta: TimelineMeta): number | null {
  const ranks = meta.hosts.map(({ name }) =>
    numberIn(/(?<![a-z])(?:rank|worker)[-_=]?(\d+)/i, name),
  );
  for (const word of (device ?? "").split(",").map((each) => each.trim())) {
    const between = /^(\d+)(?:\s*[-–]\s*(\d+))?$/.exec(word);
    const [, first = "", last = first] = between ?? [];
    const isNumber = (number: number) => number >= Number(first) && number <= Number(last);
    const isRank = between
      ? isNumber
      : (number: number) => number === numberIn(/^(?:rank|worker)[ :_]?(\d+)$/i, word);
    const host = ranks.findIndex((rank, at) => isRank(rank) || meta.hosts[at]?.name === word);
    const found = meta.sections.find((section) => {
      if (host >= 0) return section.host === host;
      if (between) return section.kind === "device" && isNumber(numberIn(/:(\d+)/, section.label));
      const name = word.replace(/^\/device:/, "").replace(/^([a-z]+)[ _](\d+)$/i, "$1:$2");
      const own = `${meta.hosts[section.host]?.name}/${section.label}`;
      return section.label.toLowerCase() === name.toLowerCase() || own === word;
    });
    if (found) return found.id;
  }
  return null;
}

function numberIn(pattern: RegExp, text: string): number {
  return Number(pattern.exec(text)?.[1] ?? Number.NaN);
}

/** Where steps and range of a selection lie together; null where nothing of it is a time. */
export function selectedSpan({ steps, range }: Selection, meta: TimelineMeta): Span | null {
  let span = { begin: meta.begin_ps, end: meta.end_ps };
  const both = (other: Span) => {
    span = { begin: Math.max(span.begin, other.begin), end: Math.min(span.end, other.end) };
  };
  const [first = Number.NaN, last = first] = (steps ?? "").split(/[-–]/).map(Number);
  const chosen = meta.steps.flatMap(({ num, begin_ps, end_ps }) =>
    num.flatMap((number, at) =>
      number >= first && number <= last ? [[begin_ps[at], end_ps[at]] as [number, number]] : [],
    ),
  );
  if (steps && chosen.length > 0) {
    both({
      begin: Math.min(...chosen.map(([begin]) => begin)),
      end: Math.max(...chosen.map(([, end]) => end)),
    });
  }
  const match = range ? RANGE.exec(range.trim()) : null;
  if (match) {
    const [, from, fromUnit, to, toUnit] = match;
    const ps = (text: string, unit: string | undefined) =>
      Number(text.replaceAll("_", "")) * (UNIT_PS[unit ?? "ms"] as number);
    both({
      begin: from === undefined ? span.begin : ps(from, fromUnit ?? toUnit),
      end: to === undefined ? span.end : ps(to, toUnit),
    });
  }
  return (match || (steps && chosen.length > 0)) && span.end > span.begin ? span : null;
}
