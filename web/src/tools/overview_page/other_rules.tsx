/** The rules that looked and found nothing, each with its reason, by what they look at. */

import type { AdviceInfo, Checked } from "../../api/types.gen.ts";
import { plural } from "../../base/format.ts";
import { ruleGroups } from "../../engine/advice/rule_groups.ts";

export function OtherRules({ advice }: { advice: AdviceInfo }) {
  const rest = advice.checked.filter((one) => one.outcome !== "fired");
  if (rest.length === 0) return null;
  const noun = rest.length < advice.checked.length ? "other rule" : "rule";
  return (
    <details class="other-rules">
      <summary>{plural(rest.length, noun)} checked</summary>
      {ruleGroups(rest).map(([group, rules]) => (
        <details key={group}>
          <summary>
            {group} <span class="quiet">{plural(rules.length, "rule")}</span>
          </summary>
          <Rules rules={rules} />
        </details>
      ))}
    </details>
  );
}

function Rules({ rules }: { rules: readonly Checked[] }) {
  return (
    <dl>
      {rules.map((one) => (
        <div key={one.rule}>
          <dt>
            {one.title || one.rule} <span class="quiet">{one.said}</span>
          </dt>
          <dd class="quiet">{one.reason}</dd>
        </div>
      ))}
    </dl>
  );
}
