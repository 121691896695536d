/** The list of a range as text that spreadsheets take. */

import type { RangeName } from "../../base/timeline.ts";
import { plainCell } from "../table/cell_text.ts";

const PS_IN_US = 1e6;
const HEAD = ["Name", "Count", "Self (µs)", "Total (µs)", "Mean (µs)", "Longest (µs)"];

/** One line per name, with tabs between. */
export function namesAsText(names: readonly RangeName[]): string {
  const rows = names.map((row) => [
    plainCell(row.name),
    row.count,
    row.self_ps / PS_IN_US,
    row.total_ps / PS_IN_US,
    row.mean_ps / PS_IN_US,
    row.longest_ps / PS_IN_US,
  ]);
  return [HEAD, ...rows].map((row) => row.join("\t")).join("\n");
}
