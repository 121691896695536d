/** Widths of a table's columns, from what is in them. */

import { cellText, headingText, sumText } from "./cell_text.ts";
import { allRows, type Column } from "./table.ts";

/** Width of a text in px, as a cell, a heading or a sum is set. */
export type Measure = (text: string, as: "cell" | "heading" | "sum") => number;

/** Padding of both sides, and a little for texts of equal length but wider letters. */
const PADDING_PX = 22;
const SORT_MARK_PX = 12;
const BAR_PX = 50;
const SAMPLED_ROWS = 200;
const FIRST_ROWS = 60;
/** Characters a cell gets at most; longer texts are cut, and whole in the row's details. */
const LONGEST = { name: 38, other: 22 } as const;

/** Least width in px: the heading in two lines, nearly every cell whole, and the sum. */
export function columnWidth(column: Column, measure: Measure): number {
  if (column.meta.widthPx !== undefined) return column.meta.widthPx;
  const heading = twoLineWidth(headingText(column), measure) + SORT_MARK_PX;
  const most = column.meta.kind === "name" ? LONGEST.name : LONGEST.other;
  const cell = measure(longestCell(column).slice(0, most), "cell");
  const sum = measure(sumText(column, allRows(rowsOf(column))), "sum");
  return Math.ceil(Math.max(heading, cell + (hasBar(column) ? BAR_PX : 0), sum) + PADDING_PX);
}

/** Whether cells draw their ratio as a bar: shares do; running sums only grow. */
export function hasBar(column: Column): boolean {
  return column.meta.kind === "ratio" && !column.meta.is_cumulative;
}

/** The longer line when a text is broken into two as evenly as its words allow. */
function twoLineWidth(text: string, measure: Measure): number {
  const words = text.split(" ");
  let least = measure(text, "heading");
  for (let cut = 1; cut < words.length; cut++) {
    const lines = [words.slice(0, cut), words.slice(cut)];
    const longer = Math.max(...lines.map((line) => measure(line.join(" "), "heading")));
    least = Math.min(least, longer);
  }
  return least;
}

function rowsOf(column: Column): number {
  return column.type === "text" ? column.codes.length : column.values.length;
}

function longestCell(column: Column): string {
  const rows = rowsOf(column);
  const stride = Math.max(1, Math.floor(rows / SAMPLED_ROWS));
  let longest = "";
  // The first rows are the ones in sight; of the others a sample has to do.
  for (let row = 0; row < rows; row += row < FIRST_ROWS ? 1 : stride) {
    const text = cellText(column, row);
    if (text.length > longest.length) longest = text;
  }
  return longest;
}
