/** What a finding saves, in words. */

import type { Finding } from "../../api/types.gen.ts";
import { roughly, wholePercent } from "../../base/format.ts";
import { likelihood } from "../../engine/advice/findings.ts";

/** What is divided into parts: the average step, or, without steps, the whole recording. */
export interface Whole {
  readonly ms: number | null;
  readonly noun: "step" | "recording";
}

/** "Save up to 3.6 ms per step (17%) · likely". */
export function savingText(finding: Finding, whole: Whole): string {
  const sure = likelihood(finding.confidence);
  return [amountText(finding, whole), sure].filter(Boolean).join(" · ");
}

function amountText({ saving_ms: saving, saving_high_ms: most }: Finding, whole: Whole): string {
  const upTo = Math.max(saving ?? 0, most ?? 0);
  if (saving === null || upTo <= 0) return "Saving unknown";
  const capped = whole.ms === null ? upTo : Math.min(upTo, whole.ms);
  const share = whole.ms ? ` (${wholePercent(capped / whole.ms)})` : "";
  const per = whole.noun === "step" ? "per step" : "of the recording";
  return `Save up to ${roughly(capped, "ms")} ${per}${share}`;
}
