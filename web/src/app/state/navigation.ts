/** Whether the list of pages is shown: beside the page, folded away, or over it in a narrow window. */

import { computed, signal } from "@preact/signals";
import { recall, remember } from "../../base/storage.ts";

const KEY = "nav.folded";
/** Equal to the width in shell.css. */
const NARROW = window.matchMedia("(max-width: 1000px)");

export const isNarrow = signal(NARROW.matches);
const folded = signal(recall(KEY) === "yes");
/** In a narrow window it lies over the page, and only for as long as one chooses. */
const over = signal(false);

export const navShown = computed(() => (isNarrow.value ? over.value : !folded.value));

NARROW.addEventListener("change", () => {
  isNarrow.value = NARROW.matches;
  over.value = false;
});

export function toggleNav(): void {
  if (isNarrow.value) over.value = !over.value;
  else {
    folded.value = !folded.value;
    remember(KEY, folded.value ? "yes" : null);
  }
}

/** A page was chosen, or Escape pressed. */
export function closeNav(): void {
  over.value = false;
}
