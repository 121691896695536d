/** What held a memory over time, as areas on top of each other. */

export interface LayerRows {
  readonly time_ms: readonly (number | null)[];
  readonly held_bytes: readonly (number | null)[];
}

export interface HolderLayers {
  readonly xs: Float64Array;
  /** Bytes by holder, then by moment. */
  readonly held: readonly Float64Array[];
}

/**
 * @param rows of one memory: at each moment one row for each holder, always in one order
 * @param holders how many there are
 */
export function holderLayers({ time_ms, held_bytes }: LayerRows, holders: number): HolderLayers {
  const length = holders > 0 ? Math.floor(time_ms.length / holders) : 0;
  const column = (cells: readonly (number | null)[], one: number) =>
    Float64Array.from({ length }, (_, moment) => cells[moment * holders + one] ?? Number.NaN);
  return {
    xs: column(time_ms, 0),
    held: Array.from({ length: holders }, (_, one) => column(held_bytes, one)),
  };
}
