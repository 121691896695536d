/** Light, dark, or as the system says; the choice is remembered. */

import { signal } from "@preact/signals";
import { recall, remember } from "../../base/storage.ts";

export type Theme = "system" | "light" | "dark";

const KEY = "theme";

function stored(): Theme {
  const value = recall(KEY);
  return value === "light" || value === "dark" ? value : "system";
}

export const theme = signal<Theme>(stored());

export function chooseTheme(choice: Theme): void {
  theme.value = choice;
  remember(KEY, choice === "system" ? null : choice);
  applyTheme();
}

/** Marks the document, where the style sheet looks for it. */
export function applyTheme(): void {
  if (theme.value === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
}
