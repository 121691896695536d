/** What the reader of a page must know before believing its numbers. */

import type { Diagnostic } from "../../api/types.gen.ts";

const WEIGHT = { error: 0, warning: 1, info: 2 } as const;
const MARK = { error: "Error", warning: "Warning", info: "Note" } as const;

/** How slugs of reasons begin that appear in the place of a table without rows. */
const EMPTY = "empty-";

/** Why a table of a result has no rows; undefined if nothing says it. */
export function whyEmpty(
  result: { readonly diagnostics: readonly Diagnostic[] },
  table: string,
): string | undefined {
  return result.diagnostics.find((each) => each.slug === EMPTY + table)?.message;
}

export function Diagnostics({ diagnostics }: { diagnostics: readonly Diagnostic[] }) {
  const shown = diagnostics.filter((each) => !each.slug.startsWith(EMPTY));
  if (shown.length === 0) return null;
  const sorted = shown.sort((a, b) => WEIGHT[a.severity] - WEIGHT[b.severity]);
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
