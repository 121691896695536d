/** Two flames against each other: the other one's times as if its range were as long as this. */

import type { FlameAnswer } from "../../base/timeline.ts";

export interface FlameChange {
  /** Time of each node in the other range, scaled to the length of this one. */
  readonly before: Float64Array;
  readonly after: readonly number[];
  /** Whether the ranges differ in length. */
  readonly scaled: boolean;
  readonly whole: number;
}

const SAME_LENGTH = 0.01;
/** Changes of less than this share of the whole have no colour. */
const LEAST = 0.002;
const STRONG = 0.02;

export function flameChange(answer: FlameAnswer): FlameChange | null {
  const { base_total_ps: base, base_begin_ps: from, base_end_ps: to } = answer;
  if (!base || from === undefined || to === undefined) return null;
  const factor = (answer.end_ps - answer.begin_ps) / (to - from);
  const scaled = Math.abs(factor - 1) > SAME_LENGTH;
  const before = Float64Array.from(base, (ps) => (scaled ? ps * factor : ps));
  const { total_ps: after } = answer;
  return { before, after, scaled, whole: Math.max(after[0] ?? 0, before[0] ?? 0) || 1 };
}

/** Class of a slice by how much its time went up or down, as a share of the whole. */
export function changeClass(change: FlameChange, row: number): string {
  const share = ((change.after[row] ?? 0) - (change.before[row] ?? 0)) / change.whole;
  if (Math.abs(share) < LEAST) return "same";
  const much = Math.abs(share) >= STRONG ? "-much" : "";
  return (share > 0 ? "up" : "down") + much;
}
