import assert from "node:assert/strict";
import { test } from "node:test";
import type { FlameAnswer } from "../../base/timeline.ts";
import { flameHits } from "./search.ts";

// all 100 ── load 60 ── read 40 ── load 10
//        └─ step 30 ── Load_Batch 5
const FLAME: FlameAnswer = {
  name: ["", "load", "read", "load", "step", "Load_Batch"],
  parent: [-1, 0, 1, 2, 0, 4],
  total_ps: [100, 60, 40, 10, 30, 5],
  self_ps: [10, 20, 30, 10, 25, 5],
  count: [0, 1, 1, 1, 1, 1],
  example: [-1, 0, 1, 2, 3, 4],
  category: [],
  left_out: 0,
  begin_ps: 0,
  end_ps: 100,
};

test("time of what is found counts once, however deep it calls itself", () => {
  const hits = flameHits(FLAME, "load");
  assert.deepEqual(Array.from(hits?.marks ?? []), [0, 1, 0, 1, 0, 1]);
  assert.equal(hits?.count, 3);
  assert.equal(hits?.total_ps, 60 + 5);
});

test("nothing is sought, nothing is found", () => {
  assert.equal(flameHits(FLAME, "  "), null);
  assert.equal(flameHits(FLAME, "absent")?.count, 0);
});
