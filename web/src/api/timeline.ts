/** The parts of the timeline; `scope` names run, host and fingerprint in every question. */

import type {
  Density,
  EventDetails,
  FlameAnswer,
  Flows,
  PathAnswer,
  RangeAnswer,
  SearchAnswer,
  TimelineMeta,
} from "../base/timeline.ts";
import { apiUrl, getBytes, getJson } from "./client.ts";

/** Which recording is asked about. `v` is its fingerprint, so that answers may be kept forever. */
export interface TimelineScope {
  readonly run: string;
  readonly host: string;
  readonly v: string;
}

type Question = Readonly<Record<string, string | number>>;

function url(scope: TimelineScope, part: string, question: Question): string {
  const text = Object.entries(question).map(([name, value]) => [name, String(value)] as const);
  return apiUrl(`timeline/${part}`, { ...scope, ...Object.fromEntries(text) });
}

export function getTimelineMeta(
  run: string,
  host: string,
  signal: AbortSignal,
): Promise<TimelineMeta> {
  return getJson(url({ run, host, v: "" }, "meta", {}), signal);
}

export function getNames(
  scope: TimelineScope,
  page: number,
  signal: AbortSignal,
): Promise<{ first: number; names: string[] }> {
  return getJson(url(scope, "names", { page }), signal);
}

export function getTile(
  scope: TimelineScope,
  question: Question,
  signal: AbortSignal,
): Promise<ArrayBuffer> {
  return getBytes(url(scope, "tile", question), signal);
}

export function getEvent(
  scope: TimelineScope,
  id: number,
  signal: AbortSignal,
): Promise<EventDetails> {
  return getJson(url(scope, "event", { id }), signal);
}

export function getFlows(
  scope: TimelineScope,
  question: Question,
  signal: AbortSignal,
): Promise<Flows> {
  return getJson(url(scope, "flows", question), signal);
}

export function getSearch(
  scope: TimelineScope,
  question: Question,
  signal: AbortSignal,
): Promise<SearchAnswer> {
  return getJson(url(scope, "search", question), signal);
}

export function getRange(
  scope: TimelineScope,
  question: Question,
  signal: AbortSignal,
): Promise<RangeAnswer> {
  return getJson(url(scope, "range", question), signal);
}

export function getFlame(
  scope: TimelineScope,
  question: Question,
  signal: AbortSignal,
): Promise<FlameAnswer> {
  return getJson(url(scope, "flame", question), signal);
}

export function getPath(
  scope: TimelineScope,
  question: Question,
  signal: AbortSignal,
): Promise<PathAnswer> {
  return getJson(url(scope, "path", question), signal);
}

export function getDensity(
  scope: TimelineScope,
  columns: number,
  signal: AbortSignal,
  span: { readonly start_ps?: number; readonly end_ps?: number } = {},
): Promise<Density> {
  return getJson(url(scope, "density", { columns, ...span }), signal);
}

/** URL of the trace, or a range of it, as a file. */
export function recordingUrl(scope: TimelineScope, question: Question): string {
  return url(scope, "export", question);
}
