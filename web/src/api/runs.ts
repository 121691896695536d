/** What a list of runs says about each, and notes on them. */

import { apiUrl, getJson, postJson } from "./client.ts";
import type { RunFactsInfo } from "./types.gen.ts";

export function getRunFacts(run: string, signal: AbortSignal): Promise<RunFactsInfo> {
  return getJson(apiUrl("runs/facts", { run }), signal);
}

export interface RunNote {
  readonly run: string;
  readonly tags: readonly string[];
  readonly note: string;
}

export function keepRunNote(note: RunNote): Promise<RunNote> {
  return postJson(apiUrl("runs/note"), note);
}
