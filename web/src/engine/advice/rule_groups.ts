/** Rules of the advice by what they are about, as the server says. */

interface About {
  readonly subject: string;
}

const REST = "Other";

/** Rules by subject, in the order in which the subjects come; rules without one are last. */
export function ruleGroups<R extends About>(
  rules: readonly R[],
): readonly (readonly [string, readonly R[]])[] {
  const groups = new Map<string, R[]>();
  for (const rule of rules) {
    const group = groups.get(rule.subject);
    if (group) group.push(rule);
    else groups.set(rule.subject, [rule]);
  }
  return [...groups]
    .sort(([a], [b]) => Number(a === "") - Number(b === ""))
    .map(([subject, found]) => [headingOf(subject), found] as const);
}

function headingOf(subject: string): string {
  return subject === "" ? REST : subject.charAt(0).toUpperCase() + subject.slice(1);
}
