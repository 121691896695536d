/** The recording that the Capture dialog shows, whether the dialog is open or not. */

import { signal } from "@preact/signals";
import { beginCapture, checkCapture, getCapture, stopCapture } from "../../api/capture.ts";
import { ApiError } from "../../api/client.ts";
import type { CaptureCheckInfo, CaptureInfo, ErrorInfo } from "../../api/types.gen.ts";
import type { CaptureOrder } from "../../engine/capture_request.ts";
import { loadSession, navigate, noteFailure } from "./shell.ts";

const POLL_MS = 300;

export const captureOpen = signal(false);
export const capture = signal<CaptureInfo | null>(null);
/** Why an order was not taken. */
export const refused = signal<ErrorInfo | null>(null);

/** What was found at the addresses; null while nobody looked, or they have changed since. */
export const checked = signal<readonly CaptureCheckInfo[] | "looking" | null>(null);

/** Run that was recorded while its dialog was closed, until it is opened. */
export const recorded = signal("");

let following = false;

/** Looks at the workers of an order without recording them. */
export async function checkWorkers(asked: CaptureOrder): Promise<void> {
  refused.value = null;
  checked.value = "looking";
  try {
    checked.value = (await checkCapture(asked)).workers;
  } catch (error) {
    checked.value = null;
    noteFailure(error);
    if (error instanceof ApiError) refused.value = error.body;
  }
}

/** Orders a recording and follows it to its run. */
export async function order(asked: CaptureOrder): Promise<void> {
  refused.value = null;
  checked.value = null;
  recorded.value = "";
  if (await ask(() => beginCapture(asked))) void follow();
}

/** Gives up the workers that have not answered. */
export async function giveUp(): Promise<void> {
  await ask(stopCapture);
}

/** Shows what the server does now, such as a recording that another page has ordered. */
export async function lookAtCapture(): Promise<void> {
  await ask(getCapture);
  if (capture.value?.state === "running") void follow();
}

/** Goes to the new run. */
export function openRun(run: string): void {
  captureOpen.value = false;
  recorded.value = "";
  navigate({ page: "overview_page", run, host: "", per: "", selection: {}, params: {} });
}

async function follow(): Promise<void> {
  if (following) return;
  following = true;
  try {
    while (capture.value?.state === "running") {
      await new Promise((resolve) => window.setTimeout(resolve, POLL_MS));
      if (!(await ask(getCapture))) return;
    }
  } finally {
    following = false;
  }
  const ended = capture.value;
  if (ended?.state !== "done") return;
  await loadSession();
  // With a worker lost the dialog stays, to say which and why.
  const whole = ended.workers.every((worker) => worker.phase === "done" && !worker.notes.length);
  if (!captureOpen.value) recorded.value = ended.run;
  else if (whole && ended.run) openRun(ended.run);
}

async function ask(question: () => Promise<CaptureInfo>): Promise<boolean> {
  try {
    capture.value = await question();
    return true;
  } catch (error) {
    noteFailure(error);
    if (error instanceof ApiError) refused.value = error.body;
    return false;
  }
}
