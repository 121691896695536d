/** The keyboard: one table of keys, from which the help page is drawn. */

import { signal } from "@preact/signals";
import type { ToolInfo } from "../../api/types.gen.ts";
import { closeNav } from "./navigation.ts";

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

/** Listens for the shell's keys; `goTo` gets a page id. Returns what stops it. */
export function listenForKeys(
  tools: () => readonly ToolInfo[],
  goTo: (page: string) => void,
): () => void {
  let afterG = 0;
  const onKey = (event: KeyboardEvent) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      paletteOpen.value = true;
      return;
    }
    if (event.key === "Escape") closeNav();
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (helpOpen.value || paletteOpen.value || document.querySelector(".popover-panel")) return;
    if (performance.now() < afterG) {
      afterG = 0;
      const page = pageLetters(tools()).get(event.key.toLowerCase());
      if (page) goTo(page);
      return;
    }
    if (event.key === "?") helpOpen.value = true;
    else if (event.key === "g") afterG = performance.now() + 1500;
    else if (event.key === "/") focusFilter(event);
    else if (/^[1-9]$/.test(event.key)) {
      const tool = tools().filter(({ available }) => available)[Number(event.key) - 1];
      if (tool) goTo(tool.id);
    }
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
