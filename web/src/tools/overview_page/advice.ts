/** All advice on the run: it reads every tool, so it comes after the page that shows it. */

import { useEffect, useState } from "preact/hooks";
import { getAdvice } from "../../api/client.ts";
import type { AdviceInfo, Finding, Ref } from "../../api/types.gen.ts";
import { evidenceParams } from "../../engine/advice/evidence.ts";
import type { PageLink, Params } from "../sections/page_link.ts";
import type { ToolPageProps } from "../sections/tool_page.tsx";

export type AdviceState = AdviceInfo | "waiting" | "failed";

/** The advice on the recording, or part of it, of a query; "failed" leaves what the page knows. */
export function useAdvice(query: Params): AdviceState {
  const { run = "", host = "", per = "", steps = "", range = "", device = "" } = query;
  const [state, setState] = useState<AdviceState>("waiting");
  useEffect(() => {
    const control = new AbortController();
    setState("waiting");
    getAdvice({ run, host, per, steps, range, device }, control.signal)
      .then(setState)
      .catch(() => {
        if (!control.signal.aborted) setState("failed");
      });
    return () => control.abort();
  }, [run, host, per, steps, range, device]);
  return state;
}

/** The page of a piece of evidence, opened on what it is about; null where there is none. */
export function evidenceLink(
  ref: Ref,
  { pageFor }: Pick<ToolPageProps, "pageFor">,
): PageLink | null {
  const page = pageFor(ref.tool);
  if (!page) return null;
  return pageFor(ref.tool, evidenceParams(ref, page.tables, page.timesOf));
}

/** The most telling place of a finding: a stretch of time, else rows, else a page. */
export function showMe(finding: Finding, props: Pick<ToolPageProps, "pageFor" | "tool">) {
  const elsewhere = finding.evidence.filter((ref) => ref.tool !== props.tool.id);
  const rank = (ref: Ref) => (ref.from_ms !== null ? 0 : ref.rows.length > 0 ? 1 : 2);
  const best = elsewhere.toSorted((a, b) => rank(a) - rank(b));
  for (const ref of best) {
    const link = evidenceLink(ref, props);
    if (link) return link;
  }
  return null;
}
