/** Nodes of a flame whose names contain a text, and the time that is spent in them. */

import type { FlameAnswer } from "../../base/timeline.ts";

export interface FlameHits {
  /** 1 for each node whose name contains the text. */
  readonly marks: Uint8Array;
  readonly count: number;
  /** Time in any of them: a hit inside of another hit adds nothing. */
  readonly total_ps: number;
}

/** null where nothing is sought. Case does not count. */
export function flameHits(answer: FlameAnswer, text: string): FlameHits | null {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return null;
  const { name, parent, total_ps: total } = answer;
  const marks = Uint8Array.from(name, (each, row) =>
    row > 0 && each.toLowerCase().includes(wanted) ? 1 : 0,
  );
  // Parents come before their children, so one pass knows what lies inside of a hit.
  const within = new Uint8Array(marks.length);
  let time = 0;
  for (let row = 1; row < marks.length; row++) {
    const above = parent[row] as number;
    within[row] = marks[above] || within[above] ? 1 : 0;
    if (marks[row] && !within[row]) time += total[row] as number;
  }
  return { marks, count: marks.reduce((sum, mark) => sum + mark, 0), total_ps: time };
}
