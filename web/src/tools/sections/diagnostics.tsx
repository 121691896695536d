/** What the reader of a page must know before believing its numbers. */

import type { Diagnostic } from "../../api/types.gen.ts";
import { visible } from "../../base/text.ts";

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

interface Shown {
  readonly diagnostics: readonly Diagnostic[];
}

export function Diagnostics({ diagnostics }: Shown) {
  const shown = diagnostics.filter((each) => !each.slug.startsWith(EMPTY));
  if (shown.length === 0) return null;
  return (
    <section class="diagnostics" aria-labelledby="diagnostics">
      <h2 id="diagnostics">About these numbers</h2>
      <List diagnostics={shown.sort((a, b) => WEIGHT[a.severity] - WEIGHT[b.severity])} />
    </section>
  );
}

/** What went wrong comes before the answer: the worst may be among what is missing. */
export function Errors({ diagnostics }: Shown) {
  const errors = diagnostics.filter(isError);
  return errors.length > 0 ? (
    <div class="diagnostics">
      <List diagnostics={errors} />
    </div>
  ) : null;
}

export function isError({ severity }: Diagnostic): boolean {
  return severity === "error";
}

function List({ diagnostics }: Shown) {
  return (
    <ul>
      {diagnostics.map((each) => (
        <li key={each.slug + each.where + each.message}>
          <span class={`mark ${each.severity}`}>{MARK[each.severity]}</span>
          <span>
            {visible(each.message)}
            {each.where && <span class="quiet"> {visible(each.where)}</span>}
          </span>
        </li>
      ))}
    </ul>
  );
}
