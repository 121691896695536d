import assert from "node:assert/strict";
import { test } from "node:test";
import { evidenceParams } from "./evidence.ts";

const NOWHEN = { from_ms: null, to_ms: null } as const;
const OPS = {
  ops: [
    { name: "operation", kind: "name" },
    { name: "type", kind: "category" },
    { name: "self_time_us", kind: "time" },
  ],
};

test("only rows that a finding names in full are shown, by the column that they sum to", () => {
  const ref = { tool: "x", what: "ops.self_time_us", rows: ["a/b", "c.(d)"], ...NOWHEN };
  const shown = { "ops.sort": "-self_time_us", "ops.q": "/^(?:a/b|c\\.\\(d\\))$/" };
  assert.deepEqual(evidenceParams(ref, OPS, ["step", "recording"]), shown);
  const whole = { per: "recording", ...shown };
  assert.deepEqual(evidenceParams(ref, OPS, ["recording", "step"]), whole);
});

test("a field of the result filters no table", () => {
  const ref = { tool: "x", what: "memories.peak_bytes", rows: ["GPU:0"], ...NOWHEN };
  assert.deepEqual(evidenceParams(ref, OPS), {});
});

test("a column sorts its table, a condition filters it", () => {
  const sorted = { tool: "x", what: "self_time_us", rows: [], ...NOWHEN };
  assert.deepEqual(evidenceParams(sorted, OPS), { "ops.sort": "-self_time_us" });
  const filtered = { tool: "x", what: "type=copy-done", rows: [], ...NOWHEN };
  assert.deepEqual(evidenceParams(filtered, OPS), { "ops.if": "type=copy-done" });
});

test("a thing opens among the rows of its grouping", () => {
  const options = { group_by: "operation", where: "device" };
  const thing = { tool: "x", what: "ops", rows: ["a/b"], ...NOWHEN, options };
  assert.deepEqual(evidenceParams(thing, OPS), { ...options, "ops.row": "a/b" });
});

test("a link from a thing opens its details on the page that it leads to", () => {
  const thing = { tool: "x", what: "ops", rows: ["a/b"], ...NOWHEN, opens: true };
  assert.equal(evidenceParams(thing, OPS)["ops.row"], "a/b");
  assert.match(evidenceParams(thing, OPS)["ops.q"] ?? "", /a/);
});

test("a range of time opens the timeline there", () => {
  const ref = { tool: "trace_viewer", what: "the longest gap", rows: [], from_ms: 10, to_ms: 14 };
  assert.deepEqual(evidenceParams(ref, {}), {
    "tl.view": "9000000000~15000000000",
    "tl.range": "10000000000~14000000000",
  });
});

test("a page without tables opens as it is", () => {
  assert.deepEqual(evidenceParams({ tool: "x", what: "", rows: [], ...NOWHEN }, {}), {});
});
