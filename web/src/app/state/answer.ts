/** Answers of the server in a component: cached, cancelled when left, with progress meanwhile. */

import { useLayoutEffect, useState } from "preact/hooks";
import { ApiError, errorInfo, getProgress, ServerGone } from "../../api/client.ts";
import type { ErrorInfo, ProgressInfo } from "../../api/types.gen.ts";
import { noteFailure, serverGone } from "./shell.ts";

export interface Loaded<T> {
  /** The answer; while a new one is awaited, the last one of the same kind. */
  readonly value: T | null;
  /** True while `value` is not (yet) the answer to the present question. */
  readonly waiting: boolean;
  readonly error: ErrorInfo | null;
  readonly status: number;
  /** Where the server is, once the wait has become noticeable. */
  readonly progress: ProgressInfo | null;
}

const NOTICEABLE_MS = 300;
const POLL_MS = 400;
const CACHED_ANSWERS = 24;

const answers = new Map<string, unknown>();

function cache(key: string, value: unknown): void {
  answers.delete(key);
  answers.set(key, value);
  for (const oldest of answers.keys()) {
    if (answers.size <= CACHED_ANSWERS) break;
    answers.delete(oldest);
  }
}

const IDLE = { value: null, waiting: true, error: null, status: 0, progress: null } as const;

/**
 * @param key identifies the question; an equal key gives the cached answer
 * @param family answers of one family replace each other without a blank in between
 * @param run whose progress is asked for meanwhile
 */
export function useAnswer<T>(
  key: string,
  family: string,
  run: string,
  ask: (signal: AbortSignal) => Promise<T>,
): Loaded<T> {
  const [state, setState] = useState<Loaded<T> & { family: string; key: string }>({
    ...IDLE,
    family,
    key: "",
  });
  // Asking again is what "retry" means, and it happens when the server is back.
  const gone = serverGone.value;

  // Before the browser paints the frame around the answer: it is on its way meanwhile.
  useLayoutEffect(() => {
    const known = answers.get(key) as T | undefined;
    if (known !== undefined) {
      setState({ ...IDLE, value: known, waiting: false, family, key });
      return;
    }
    if (gone) return;
    const control = new AbortController();
    setState((last) => ({
      ...IDLE,
      value: last.family === family ? last.value : null,
      family,
      key,
    }));
    const stop = watchProgress(run, (progress) => setState((last) => ({ ...last, progress })));
    ask(control.signal)
      .then((value) => {
        cache(key, value);
        setState({ ...IDLE, value, waiting: false, family, key });
      })
      .catch((error: unknown) => {
        if (control.signal.aborted) return;
        noteFailure(error);
        // The server is asked again when it is back; every other failure is final.
        if (error instanceof ServerGone) return;
        const status = error instanceof ApiError ? error.status : 0;
        setState({ ...IDLE, error: errorInfo(error), status, waiting: false, family, key });
      })
      .finally(stop);
    return () => {
      control.abort();
      stop();
    };
  }, [key, family, run, gone]);

  // Between a change of the question and the effect above, the state still answers the old one.
  if (state.key === key) return state;
  const known = answers.get(key) as T | undefined;
  if (known !== undefined) return { ...IDLE, value: known, waiting: false };
  return { ...IDLE, value: state.family === family ? state.value : null };
}

/** Reports progress from the moment a wait is noticeable; returns what ends it. */
function watchProgress(run: string, report: (progress: ProgressInfo) => void): () => void {
  let ended = false;
  let timer = 0;
  const poll = async () => {
    try {
      const progress = await getProgress(run);
      if (!ended) report(progress);
    } catch {
      // The request itself reports what is wrong; progress only fills the wait.
    }
    if (!ended) timer = window.setTimeout(poll, POLL_MS);
  };
  timer = window.setTimeout(poll, NOTICEABLE_MS);
  return () => {
    ended = true;
    window.clearTimeout(timer);
  };
}
