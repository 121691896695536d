/** Widths of a table's columns, from what stands in them. */

import { cellText, headingText } from "./cells.ts";
import { type Column, wordAt } from "./table.ts";

const CHARACTER_PX = 7;
const PADDING_PX = 20;
/** Room for the inline bar of a ratio. */
export const BAR_PX = 48;
const SAMPLED_ROWS = 300;

/** Width in px that shows nearly every cell whole; long names are cut at `longest` characters. */
export function columnWidth(column: Column, longest = 44): number {
  const words = headingText(column).split(" ");
  // Headings may break into two lines, and need room for the mark of the order.
  const heading = Math.max(...words.map((word) => word.length), headingText(column).length / 2) + 2;
  const cells = Math.min(longest, longestCell(column));
  const bar = column.meta.kind === "ratio" ? BAR_PX : 0;
  return Math.ceil(Math.max(heading, cells) * CHARACTER_PX + PADDING_PX + bar);
}

function longestCell(column: Column): number {
  const rows = column.type === "text" ? column.codes.length : column.values.length;
  const stride = Math.max(1, Math.floor(rows / SAMPLED_ROWS));
  let longest = 0;
  for (let row = 0; row < rows; row += stride) {
    const text = column.type === "text" ? wordAt(column, row) : cellText(column, row);
    longest = Math.max(longest, text.length);
  }
  return longest;
}
