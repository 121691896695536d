/** What a finding saves, in words. */

import type { Finding } from "../../api/types.gen.ts";

/** What is divided into parts: the average step, or, without steps, the whole recording. */
export interface Whole {
  readonly ms: number | null;
  readonly noun: "step" | "recording";
  /** Where several hosts run a step, whose it is, in brackets; "" else. */
  readonly whose: string;
}

/** "saves 9.7–14 ms (62–91 %) · likely". */
export function savingText({ saving_text: text, likelihood }: Finding): string {
  return [text, likelihood].filter(Boolean).join(" · ");
}

/**
 * Where in the program it is: a function with its line, a call, an op; "" where it is not known, or
 * the title has it.
 */
export function placeText({ place, title }: Finding): string {
  if (!place) return "";
  const { function: name, file, line, call, op } = place;
  const source = file ? `${file}${line > 0 ? `:${line}` : ""}` : "";
  if (line > 0 && title.includes(`(${source})`)) return "";
  const where = [name, source && (name ? `(${source})` : source)].filter(Boolean).join(" ");
  return [where, call, op].filter(Boolean).join(", ");
}
