/** Dragging a track by its name to another place in its section. */

import { dropAt, dropped } from "../../engine/timeline/reorder.ts";
import type { TimelineState } from "../model/state.ts";

/** A press becomes a drag from here on. */
const DRAG_PX = 4;
/** So near to an edge the tracks scroll along, this far per move of the pointer. */
const EDGE_PX = 24;
const SCROLL_PX = 12;

/**
 * Follows the pointer until it is let go, or given up by Escape.
 *
 * @param area what the names are in
 */
export function dragTrack(
  state: TimelineState,
  id: number,
  down: PointerEvent,
  area: HTMLElement,
): void {
  if (down.button !== 0 || state.arranged.value.pinned.includes(id)) return;
  const control = new AbortController();
  const { signal } = control;
  let dragged = false;
  const end = (drop: boolean) => {
    control.abort();
    const found = state.dropping.value;
    state.dropping.value = null;
    if (drop && found) state.change({ moves: dropped(state.arranged.value.moves, found) });
  };
  const move = (event: PointerEvent) => {
    dragged ||= Math.abs(event.clientY - down.clientY) >= DRAG_PX;
    if (!dragged) return;
    const box = area.getBoundingClientRect();
    if (event.clientY < box.top + EDGE_PX) state.scrollBy(-SCROLL_PX);
    else if (event.clientY > box.bottom - EDGE_PX) state.scrollBy(SCROLL_PX);
    const y = event.clientY - box.top + state.scroll.value;
    state.dropping.value = dropAt(state.layout.value, state.meta.tracks, id, y);
  };
  window.addEventListener("pointermove", move, { signal });
  window.addEventListener("pointerup", () => end(dragged), { signal });
  window.addEventListener("pointercancel", () => end(false), { signal });
  const cancel = (event: KeyboardEvent) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    end(false);
  };
  window.addEventListener("keydown", cancel, { signal, capture: true });
  down.preventDefault();
}
