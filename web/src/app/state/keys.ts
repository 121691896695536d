/** The keyboard: one table of keys, from which the help page is drawn. */

import { signal } from "@preact/signals";
import type { ToolInfo } from "../../api/types.gen.ts";
import type { Part } from "../../engine/address.ts";
import { route, select } from "./shell.ts";

export const helpOpen = signal(false);
export const paletteOpen = signal(false);

/** Pages by their letter after "g": the first letter of the short name that is still free. */
export function pageLetters(tools: readonly ToolInfo[]): Map<string, string> {
  const letters = new Map([["a", "about"]]);
  for (const tool of tools) {
    const letter = [...tool.short, ..."bcdefghijklmnopqrstuvwxyz"].find(
      (each) => /[a-z]/.test(each) && !letters.has(each),
    );
    if (letter) letters.set(letter, tool.id);
  }
  return letters;
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest("input, select, textarea") !== null;
}

/** Listens for the shell's keys; `goTo` gets a page id or a view's number. Returns what stops it. */
export function listenForKeys(
  tools: () => readonly ToolInfo[],
  goTo: (page: string | number) => void,
): () => void {
  let afterG = 0;
  const onKey = (event: KeyboardEvent) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      paletteOpen.value = true;
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (helpOpen.value || paletteOpen.value || document.querySelector(".popover-panel")) return;
    if (event.key === "Escape") {
      const last = Object.keys(route.value.selection).at(-1);
      const isTaken = event.defaultPrevented || document.querySelector("dialog[open], .drawer");
      if (last && !isTaken) select(last as Part, "");
      return;
    }
    if (performance.now() < afterG) {
      afterG = 0;
      const page = pageLetters(tools()).get(event.key.toLowerCase());
      if (page) goTo(page);
      return;
    }
    if (event.key === "?") helpOpen.value = true;
    else if (event.key === "g") afterG = performance.now() + 1500;
    else if (event.key === "f") focusFilter(event);
    else if (event.key === "/") {
      event.preventDefault();
      paletteOpen.value = true;
    } else if (/^[1-9]$/.test(event.key)) goTo(Number(event.key));
  };
  window.addEventListener("keydown", onKey);
  return () => window.removeEventListener("keydown", onKey);
}

function focusFilter(event: KeyboardEvent): void {
  const field = document.querySelector<HTMLInputElement>('[data-focus="filter"]');
  if (!field) return;
  event.preventDefault();
  field.focus();
  field.select();
}
