import assert from "node:assert/strict";
import { test } from "node:test";
import { ruleGroups } from "./rule_groups.ts";

test("rules are listed under their subject in the order they come, strangers last", () => {
  const rules = ["", "input", "device", "input"].map((subject, i) => ({ rule: `r${i}`, subject }));
  assert.deepEqual(
    ruleGroups(rules).map(([group, found]) => [group, found.map(({ rule }) => rule)]),
    [
      ["Input", ["r1", "r3"]],
      ["Device", ["r2"]],
      ["Other", ["r0"]],
    ],
  );
});
