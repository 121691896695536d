/** One name between its callers and its callees: what the flame's answers hold of it. */

import type { FlameAnswer } from "../../base/timeline.ts";

/** The row of the chosen name in an answer about it: the first below the root. */
export const CHOSEN = 1;

/** Rows of those who call the name, or whom it calls, the most time first. */
export function neighbours({ parent, total_ps: total }: FlameAnswer): number[] {
  const rows = parent.flatMap((above, row) => (above === CHOSEN ? [row] : []));
  return rows.sort((a, b) => (total[b] ?? 0) - (total[a] ?? 0));
}
