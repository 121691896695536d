import assert from "node:assert/strict";
import { test } from "node:test";
import { groupOfRule, ruleGroups } from "./rule_groups.ts";

test("rules are grouped by what they look at", () => {
  assert.equal(groupOfRule("few-input-threads"), "Input");
  assert.equal(groupOfRule("memory-fragmentation"), "Memory");
  assert.equal(groupOfRule("worker-skew"), "Between workers");
  assert.equal(groupOfRule("slow-launches"), "Host");
  assert.equal(groupOfRule("a-rule-of-tomorrow"), "Device");
});

test("no rule is lost, and groups without rules are left out", () => {
  const rules = ["idle-device", "input-bound", "no-cache"].map((rule) => ({ rule }));
  assert.deepEqual(
    ruleGroups(rules).map(([group, { length }]) => [group, length]),
    [
      ["Input", 2],
      ["Device", 1],
    ],
  );
});
