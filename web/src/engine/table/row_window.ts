/** Which rows of a long list to draw, and where, when only a window of them is in the page. */

export interface RowWindow {
  readonly first: number;
  /** One past the last row to draw. */
  readonly end: number;
  /** Height of the whole scrolled area in px. */
  readonly height: number;
  /** Top of row `first` within the scrolled area, in px. */
  readonly top: number;
}

// Browsers stop laying out at some 17 million px; beyond that, scrolling is scaled.
const TALLEST_PX = 15_000_000;

/**
 * @param scrollTop how far the area is scrolled, px
 * @param viewport height of the visible part, px
 * @param overscan rows drawn above and below the visible ones
 */
export function rowWindow(
  scrollTop: number,
  viewport: number,
  rows: number,
  rowHeight: number,
  overscan: number,
): RowWindow {
  const full = rows * rowHeight;
  const height = Math.min(full, TALLEST_PX);
  const reach = Math.max(1, height - viewport);
  const scrolled = Math.min(Math.max(0, scrollTop), reach);
  const offset = height === full ? scrolled : (scrolled / reach) * (full - viewport);
  const visible = Math.floor(offset / rowHeight);
  const first = Math.max(0, visible - overscan);
  const end = Math.min(rows, visible + Math.ceil(viewport / rowHeight) + 1 + overscan);
  return { first, end, height, top: scrolled - (offset - first * rowHeight) };
}

/** The scroll position that brings a row into view, or null when it is in view already. */
export function scrollToRow(
  row: number,
  scrollTop: number,
  viewport: number,
  rows: number,
  rowHeight: number,
): number | null {
  const full = rows * rowHeight;
  const scale = full <= TALLEST_PX ? 1 : (TALLEST_PX - viewport) / (full - viewport);
  const offset = scrollTop / scale;
  const top = row * rowHeight;
  if (top < offset) return top * scale;
  if (top + rowHeight > offset + viewport) return (top + rowHeight - viewport) * scale;
  return null;
}
