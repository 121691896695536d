/**
 * What the first page needs, asked for when the script starts: which run the server shows by
 * default is in an answer of its own, and waiting for that before asking on costs a round each.
 */

import { getTools } from "../../api/client.ts";
import { getTimelineMeta } from "../../api/timeline.ts";
import type { ToolInfo } from "../../api/types.gen.ts";
import type { TimelineMeta } from "../../base/timeline.ts";
import { isTimeline, route, session } from "./shell.ts";

interface Asked<T> {
  /** As the address names it; "" is the server's choice. */
  readonly run: string;
  readonly host: string;
  readonly answer: Promise<T>;
}

let tools: Asked<readonly ToolInfo[]> | null = null;
let timeline: Asked<TimelineMeta> | null = null;
let letGo: () => void = () => undefined;

/** Asks for what the page of the address needs. */
export function askEarly(): void {
  const { page, run, host } = route.value;
  if (isTimeline(page)) {
    const meta = getTimelineMeta(run, host, new AbortController().signal);
    timeline = asked(run, host, meta);
    // Which tools have something to show draws nothing of the picture: it is asked for after it.
    const shown = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    meta.catch(letGo);
    const behind = shown.then(() => getTools(run, host));
    tools = asked(run, host, behind);
  } else tools = asked(run, host, getTools(run, host));
}

/** What was asked for was about runs that are not those of now. */
export function forgetEarly(): void {
  tools = null;
  timeline = null;
}

/** The timeline has its first whole picture, or is left before it had one. */
export function timelineShown(): void {
  letGo();
}

function asked<T>(run: string, host: string, answer: Promise<T>): Asked<T> {
  // The caller that takes the answer sees its failure; if nobody does, there is nothing to report.
  answer.catch(() => undefined);
  return { run, host, answer };
}

/** The early answer if it is to this question. It serves once: asking again asks the server. */
function taken<T>(early: Asked<T> | null, run: string, host: string): Promise<T> | null {
  if (early === null || early.host !== host) return null;
  const meant = early.run || session.value?.default_run;
  return meant === run ? early.answer : null;
}

/** The tools of a run. */
export function toolsOf(run: string, host: string): Promise<readonly ToolInfo[]> {
  const early = taken(tools, run, host);
  tools = null;
  return early ?? getTools(run, host);
}

/** Sections, tracks and steps of a run. */
export function timelineOf(run: string, host: string, signal: AbortSignal): Promise<TimelineMeta> {
  const early = taken(timeline, run, host);
  timeline = null;
  return early ?? getTimelineMeta(run, host, signal);
}
