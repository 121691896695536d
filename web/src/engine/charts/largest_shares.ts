/** The largest few of many shares, and the rest as one. */

export interface Share {
  readonly label: string;
  readonly value: number;
}

export interface Sectors {
  /** Largest first; at most as many as asked for. */
  readonly sectors: readonly Share[];
  /** Sum and number of those that are left. */
  readonly other: { readonly value: number; readonly count: number };
  readonly total: number;
}

/**
 * Sums values by label and keeps the `most` largest. When just one would be left over it stays
 * itself: a sector "1 other" says less in the same space.
 */
export function largestSectors(shares: Iterable<Share>, most: number): Sectors {
  const sums = new Map<string, number>();
  for (const { label, value } of shares) {
    if (value > 0) sums.set(label, (sums.get(label) ?? 0) + value);
  }
  const sorted = [...sums].map(([label, value]) => ({ label, value }));
  sorted.sort((a, b) => b.value - a.value || (a.label < b.label ? -1 : 1));
  const total = sorted.reduce((sum, share) => sum + share.value, 0);
  const cut = sorted.length === most + 1 ? most + 1 : most;
  const left = sorted.slice(cut);
  return {
    sectors: sorted.slice(0, cut),
    other: { value: left.reduce((sum, share) => sum + share.value, 0), count: left.length },
    total,
  };
}
