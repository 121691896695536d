/** Questions about a timeline and their answers. */

import { useEffect, useState } from "preact/hooks";
import { errorInfo } from "../../api/client.ts";

export interface Asked<T> {
  readonly value: T | null;
  readonly problem: string;
}

/** The answer to a question, the last one until the next is here; an empty key asks nothing. */
export function useAsked<T>(key: string, ask: (signal: AbortSignal) => Promise<T>): Asked<T> {
  const [found, setFound] = useState<Asked<T>>({ value: null, problem: "" });
  useEffect(() => {
    if (!key) return;
    const control = new AbortController();
    ask(control.signal)
      .then((value) => setFound({ value, problem: "" }))
      .catch((error: unknown) => {
        if (control.signal.aborted) return;
        const { what, hint } = errorInfo(error);
        setFound({ value: null, problem: `${what} ${hint}` });
      });
    return () => control.abort();
  }, [key]);
  return found;
}
