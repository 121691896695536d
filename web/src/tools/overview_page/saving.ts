/** What a finding saves, in words. */

import type { Finding } from "../../api/types.gen.ts";
import { roughly, wholePercent } from "../../base/format.ts";

/** What is divided into parts: the average step, or, without steps, the whole recording. */
export interface Whole {
  readonly ms: number | null;
  readonly noun: "step" | "recording";
}

/** From this ratio on, the least and the most are worth telling. */
const MORE = 1.1;

/** "Save up to 3.6 ms per step (17%) · likely". */
export function savingText(finding: Finding, whole: Whole): string {
  return [amountText(finding, whole), finding.likelihood].filter(Boolean).join(" · ");
}

function amountText(
  { saving_ms: saving, saving_low_ms: fewest, saving_high_ms: most }: Finding,
  whole: Whole,
): string {
  if (saving === null || saving <= 0) return "Saving unknown";
  const cap = whole.ms ?? Number.POSITIVE_INFINITY;
  const low = Math.min(saving, fewest ?? saving, cap);
  const high = Math.min(Math.max(saving, most ?? 0), cap);
  const isRange = high > MORE * low;
  const per = whole.noun === "step" ? "per step" : "of the recording";
  const time = isRange ? rangeText(low, high) : roughly(high, "ms");
  if (!whole.ms) return `Save ${isRange ? "" : "up to "}${time} ${per}`;
  const [least, greatest] = [wholePercent(low / whole.ms), wholePercent(high / whole.ms)];
  const share = isRange && least !== greatest ? `${least} to ${greatest}` : greatest;
  return `Save ${isRange ? "" : "up to "}${time} ${per} (${share})`;
}

/** "1.8 to 3.6 ms": the unit once where both have the same. */
function rangeText(low: number, high: number): string {
  const [least, greatest] = [roughly(low, "ms"), roughly(high, "ms")];
  const [number = least, unit = ""] = least.split(" ");
  return `${greatest.endsWith(` ${unit}`) ? number : least} to ${greatest}`;
}

/** Where in the program it is: a function with its line, a call, an op; "" where not known. */
export function placeText({ place }: Finding): string {
  if (!place) return "";
  const { function: name, file, line, call, op } = place;
  const source = file ? `${file}${line > 0 ? `:${line}` : ""}` : "";
  const where = [name, source && (name ? `(${source})` : source)].filter(Boolean).join(" ");
  return [where, call, op].filter(Boolean).join(", ");
}
