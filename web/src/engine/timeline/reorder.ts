/** Where a track lands that is dragged among those of its section. */

import type { TimelineTrack } from "../../base/timeline.ts";
import type { Arrangement, Band, Layout } from "./arrangement.ts";

/** Between which tracks a dragged one would be put. */
export interface Drop {
  readonly moved: number;
  readonly target: number;
  /** Behind the target instead of before it: the target is the section's last. */
  readonly behind: boolean;
  /** The gap, px from the top of the scrolled area. */
  readonly y: number;
}

/** The gap nearest to `y` px of the scrolled area; null when the order would stay the same. */
export function dropAt(
  layout: Layout,
  tracks: readonly TimelineTrack[],
  moved: number,
  y: number,
): Drop | null {
  const section = tracks[moved]?.section;
  const mates = layout.bands.filter(
    (band) => band.kind === "track" && tracks[band.id]?.section === section,
  );
  const last = mates[mates.length - 1];
  if (!last) return null;
  const at = mates.findIndex((band) => y < band.top + band.height / 2);
  const own = mates.findIndex((band) => band.id === moved);
  // The gaps above and below a track are its own place.
  if (own < 0 || at === own || at === own + 1 || (at < 0 && own === mates.length - 1)) return null;
  const target = at < 0 ? last : (mates[at] as Band);
  return { moved, target: target.id, behind: at < 0, y: target.top + (at < 0 ? target.height : 0) };
}

/** The moves with the drop done. */
export function dropped(moves: Arrangement["moves"], drop: Drop): Arrangement["moves"] {
  const before = [drop.moved, drop.target] as const;
  // There is none to go before at the end, so the last one is put before what went before it.
  const swap = [drop.target, drop.moved] as const;
  return drop.behind ? [...moves, before, swap] : [...moves, before];
}
