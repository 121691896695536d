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
      {byReason(rules).map(([first, ...more]) => (
        <div key={first.rule}>
          <dt>
            {[first, ...more].map((one) => one.title || one.rule).join(" · ")}{" "}
            <span class="quiet">{first.said}</span>
          </dt>
          <dd class="quiet">{first.reason}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Rules with one outcome for one reason together: what lacks in a recording silences many. */
function byReason(rules: readonly Checked[]): [Checked, ...Checked[]][] {
  const found = new Map<string, [Checked, ...Checked[]]>();
  for (const one of rules) {
    const key = `${one.said} ${one.reason}`;
    const same = found.get(key);
    if (same) same.push(one);
    else found.set(key, [one]);
  }
  return [...found.values()];
}
