/** What the reader of a page must know before believing its numbers. */

import type { Diagnostic } from "../../api/types.gen.ts";

const WEIGHT = { error: 0, warning: 1, info: 2 } as const;
const MARK = { error: "Error", warning: "Warning", info: "Note" } as const;

export function Diagnostics({ diagnostics }: { diagnostics: readonly Diagnostic[] }) {
  if (diagnostics.length === 0) return null;
  const sorted = [...diagnostics].sort((a, b) => WEIGHT[a.severity] - WEIGHT[b.severity]);
  return (
    <section class="diagnostics" aria-labelledby="diagnostics">
      <h2 id="diagnostics">About these numbers</h2>
      <ul>
        {sorted.map((each) => (
          <li key={each.slug + each.where + each.message}>
            <span class={`mark ${each.severity}`}>{MARK[each.severity]}</span>
            <span>
              {each.message}
              {each.where && <span class="quiet"> {each.where}</span>}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
