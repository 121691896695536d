/** Reading a chart by keys: which of its things comes next. */

/**
 * The place a key leads to among `0 … last`, or null for keys that are not for reading.
 *
 * @param marked the present place, -1 before the first
 * @param page how far Page Up and Page Down lead
 */
export function placeByKey(key: string, marked: number, last: number, page = 10): number | null {
  const goals: Readonly<Record<string, number>> = {
    ArrowRight: marked + 1,
    ArrowLeft: marked < 0 ? last : marked - 1,
    PageDown: marked + page,
    PageUp: marked - page,
    Home: 0,
    End: last,
  };
  const goal = goals[key];
  return goal === undefined || last < 0 ? null : Math.min(last, Math.max(0, goal));
}

/** Left edge of a tip beside a place: to its right, or to its left where it would not fit. */
export function tipLeft(x: number, width: number, tipWidth: number, gap = 14): number {
  return x + gap + tipWidth > width ? Math.max(0, x - tipWidth - gap) : x + gap;
}
