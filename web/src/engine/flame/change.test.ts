import assert from "node:assert/strict";
import { test } from "node:test";
import type { FlameAnswer } from "../../base/timeline.ts";
import { changeClass, flameChange } from "./change.ts";

const ALONE: FlameAnswer = {
  begin_ps: 0,
  end_ps: 1000,
  name: ["", "a", "b", "c"],
  parent: [-1, 0, 0, 0],
  total_ps: [1000, 600, 399, 1],
  self_ps: [0, 600, 399, 1],
  count: [0, 1, 1, 1],
  example: [-1, 1, 2, 3],
  category: [],
  left_out: 0,
};

test("a single flame has no change", () => {
  assert.equal(flameChange(ALONE), null);
});

test("the other range counts as if it were as long", () => {
  const base = { base_begin_ps: 0, base_end_ps: 500, base_total_ps: [500, 350, 149, 1] };
  const change = flameChange({ ...ALONE, ...base });
  assert.ok(change?.scaled);
  assert.deepEqual([...change.before], [1000, 700, 298, 2]);
  assert.equal(changeClass(change, 1), "down-much");
  assert.equal(changeClass(change, 2), "up-much");
  assert.equal(changeClass(change, 3), "same");
});

test("ranges of one length are compared as they are", () => {
  const base = { base_begin_ps: 7, base_end_ps: 1007, base_total_ps: [990, 590, 399, 1] };
  const change = flameChange({ ...ALONE, ...base });
  assert.equal(change?.scaled, false);
  assert.deepEqual([...(change?.before ?? [])], [990, 590, 399, 1]);
  assert.equal(change && changeClass(change, 1), "up");
});
