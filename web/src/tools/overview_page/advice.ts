/** All advice on the run: it reads every tool, so it comes after the page that shows it. */

import { useEffect, useState } from "preact/hooks";
import { getAdvice } from "../../api/client.ts";
import type { AdviceInfo, Ref } from "../../api/types.gen.ts";
import { withSubParams } from "../../engine/address.ts";
import type { PageLink, Params } from "../sections/tool_page.ts";

export type AdviceState = AdviceInfo | "waiting" | "failed";

/** The advice on the run and host of a query; "failed" leaves what the page itself knows. */
export function useAdvice(query: Params): AdviceState {
  const { run = "", host = "" } = query;
  const [state, setState] = useState<AdviceState>("waiting");
  useEffect(() => {
    const control = new AbortController();
    setState("waiting");
    getAdvice({ run, host }, control.signal)
      .then(setState)
      .catch(() => {
        if (!control.signal.aborted) setState("failed");
      });
    return () => control.abort();
  }, [run, host]);
  return state;
}

const PS_PER_MS = 1e9;
// What stands around the range that a finding points to, as a share of it on either side.
const AROUND = 0.25;

/** Where a piece of evidence is to be seen: its tool's page, on the range it names. */
export function evidenceHref(page: PageLink, ref: Ref): string {
  const { from_ms: from, to_ms: to } = ref;
  if (ref.tool !== "trace_viewer" || from === null || to === null) return page.href;
  const [begin, end] = [from * PS_PER_MS, to * PS_PER_MS];
  const margin = (end - begin) * AROUND;
  const params = withSubParams({}, "tl", {
    view: `${Math.round(begin - margin)}~${Math.round(end + margin)}`,
    range: `${Math.round(begin)}~${Math.round(end)}`,
  });
  const added = Object.entries(params)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join("&");
  return `${page.href}${page.href.includes("?") ? "&" : "?"}${added}`;
}
