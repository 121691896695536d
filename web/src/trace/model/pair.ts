/** Two timelines that move as one: what one shows, the other shows as far from its own step. */

import { effect } from "@preact/signals";
import { shifted } from "../../engine/timeline/alignment.ts";
import type { TimelineState } from "./state.ts";

/** Views that differ by less are equal: sums of large numbers are not exact. */
const SAME_PS = 2;

/** Keeps view and cursor of both together; returns what ends it. `offset` leads to `second`. */
export function pair(first: TimelineState, second: TimelineState, offset: number): () => void {
  const stops = [
    follow(first, second, offset),
    follow(second, first, -offset),
    effect(() => {
      const hover = first.hover.value;
      second.guest.value = hover ? hover.time + offset : null;
    }),
    effect(() => {
      const hover = second.hover.value;
      first.guest.value = hover ? hover.time - offset : null;
    }),
  ];
  return () => {
    for (const stop of stops) stop();
    first.guest.value = null;
  };
}

function follow(leader: TimelineState, follower: TimelineState, offset: number): () => void {
  return effect(() => {
    const wanted = shifted(leader.view.value, offset);
    const now = follower.view.peek();
    const isThere =
      Math.abs(now.begin - wanted.begin) < SAME_PS && Math.abs(now.end - wanted.end) < SAME_PS;
    if (!isThere) follower.view.value = wanted;
  });
}
