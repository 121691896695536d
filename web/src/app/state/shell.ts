/** State of the shell: the address, the session, whether the server answers. */

import { computed, signal } from "@preact/signals";
import { ApiError, getSession, ServerGone } from "../../api/client.ts";
import type { ErrorInfo, RunInfo, SessionInfo } from "../../api/types.gen.ts";
import { formatHash, narrowed, type Part, parseHash, type Route } from "../../engine/address.ts";

export const route = signal<Route>(parseHash(window.location.hash));

export const session = signal<SessionInfo | null>(null);
export const sessionError = signal<ErrorInfo | null>(null);

/** True from the first request that got no answer until one does again. */
export const serverGone = signal(false);

/** The run that is looked at: the one in the address, else the server's choice. */
export const currentRun = computed<RunInfo | null>(() => {
  const runs = session.value?.runs ?? [];
  const wanted = route.value.run || session.value?.default_run;
  return runs.find((run) => run.id === wanted) ?? null;
});

/** Goes to an address. A change of the view alone replaces the entry of the browser's history. */
export function navigate(next: Route, how: "push" | "replace" = "push"): void {
  const hash = formatHash(next);
  if (isTimeline(next.page)) lastView.set(viewKey(next), next.params);
  if (hash === window.location.hash) return;
  if (how === "push") window.history.pushState(null, "", hash);
  else window.history.replaceState(null, "", hash);
  route.value = next;
}

/** Selects a part of the recording for all pages; "" takes it off. */
export function select(part: Part, value: string): void {
  const now = route.value;
  navigate({ ...now, selection: narrowed(now.selection, part, value) });
}

const TIMELINE: readonly string[] = ["trace_viewer", "timeline"];

/** Whether a page is the timeline; it is shown before the server has told the names of tools. */
export function isTimeline(page: string): boolean {
  return TIMELINE.includes(page);
}

let letGo: () => void = () => undefined;
const shown = new Promise<void>((resolve) => {
  letGo = resolve;
});

/** The timeline has its first whole picture, or is left before it had one. */
export function timelineShown(): void {
  letGo();
}

/** When to ask for the tools: which have something to show draws nothing of the timeline. */
export function beforeTools(): Promise<void> {
  if (!isTimeline(route.value.page)) letGo();
  return shown;
}

/** The timeline's view as it was last left, by run and host: its link in the list leads back. */
const lastView = new Map<string, Route["params"]>();

function viewKey({ run, host }: Route): string {
  return `${run}\n${host}`;
}

/** Address of a page for the same run and host. */
export function pageHref(page: string, params: Route["params"] = {}): string {
  const { run, host, per, selection } = route.value;
  const left =
    isTimeline(page) && !isTimeline(route.value.page) && lastView.get(viewKey(route.value));
  const kept = Object.keys(params).length > 0 ? params : left || {};
  return formatHash({ page, run, host, per, selection, params: kept });
}

export function followAddress(): void {
  const follow = () => {
    route.value = parseHash(window.location.hash);
  };
  window.addEventListener("hashchange", follow);
  window.addEventListener("popstate", follow);
}

export async function loadSession(): Promise<void> {
  sessionError.value = null;
  try {
    session.value = await getSession();
    serverGone.value = false;
  } catch (error) {
    noteFailure(error);
    if (error instanceof ApiError) sessionError.value = error.body;
    else if (!(error instanceof ServerGone)) throw error;
  }
}

/** Remembers that the server is gone, if that is what the error says. */
export function noteFailure(error: unknown): void {
  if (error instanceof ServerGone) serverGone.value = true;
}
