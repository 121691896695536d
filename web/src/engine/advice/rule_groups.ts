/** Rules of the advice by what they look at, known from the words of their ids. */

const GROUPS: readonly (readonly [string, RegExp])[] = [
  ["Memory", /memory|alloc|fragment|small-batch/],
  ["Between workers", /collective|straggler|skew|unbalanced|worker|network|dcn/],
  [
    "Input",
    /input|serial-map|prefetch|cache|interleave|pipeline|batch-after-map|file|shard|loader|decode|shuffle/,
  ],
  ["Host", /launch|host|eager|retrac|compil|python|print|steps|tiny-kernels|gil|blocking/],
  ["Recording", /incomplete|profile|recording/],
];
const REST = "Device";
const ORDER = ["Input", "Host", REST, "Memory", "Between workers", "Recording"];

export function groupOfRule(rule: string): string {
  return GROUPS.find(([, words]) => words.test(rule))?.[0] ?? REST;
}

/** Rules by group, groups in a fixed order, empty ones left out. */
export function ruleGroups<R extends { readonly rule: string }>(
  rules: readonly R[],
): readonly (readonly [string, readonly R[]])[] {
  return ORDER.map(
    (group) => [group, rules.filter(({ rule }) => groupOfRule(rule) === group)] as const,
  ).filter(([, found]) => found.length > 0);
}
