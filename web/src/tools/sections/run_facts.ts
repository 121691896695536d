/** Facts of runs, one after the other: each may have to be read from its files. */

import { useEffect, useState } from "preact/hooks";
import { getRunFacts } from "../../api/runs.ts";
import type { RunFactsInfo } from "../../api/types.gen.ts";

export type Facts = ReadonlyMap<string, RunFactsInfo>;

/**
 * What is known of the runs so far.
 *
 * @param key changes where a run of the same name is another one
 */
export function useRunFacts(runs: readonly string[], key = runs.join("\n")): Facts {
  const [facts, setFacts] = useState<Facts>(new Map());
  useEffect(() => {
    const control = new AbortController();
    setFacts(new Map());
    void (async () => {
      for (const run of runs) {
        const found = await getRunFacts(run, control.signal).catch(() => null);
        if (control.signal.aborted) return;
        if (found) setFacts((known) => new Map([...known, [run, found]]));
      }
    })();
    return () => control.abort();
  }, [key]);
  return facts;
}
