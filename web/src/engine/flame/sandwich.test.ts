import assert from "node:assert/strict";
import { test } from "node:test";
import type { FlameAnswer } from "../../base/timeline.ts";
import { neighbours } from "./sandwich.ts";

// all ── load ── read 40 ── wait 30
//             └─ parse 50
const ANSWER: FlameAnswer = {
  name: ["", "load", "read", "parse", "wait"],
  parent: [-1, 0, 1, 1, 2],
  total_ps: [100, 100, 40, 50, 30],
  self_ps: [0, 10, 10, 50, 30],
  count: [0, 1, 1, 1, 1],
  example: [-1, 0, 1, 2, 3],
  category: [],
  left_out: 0,
  begin_ps: 0,
  end_ps: 100,
};

test("only those directly around the name are its neighbours, the longest first", () => {
  assert.deepEqual(neighbours(ANSWER), [3, 2]);
});

test("a name that nobody calls and that calls nobody has none", () => {
  const alone = { ...ANSWER, name: ["", "load"], parent: [-1, 0], total_ps: [100, 100] };
  assert.deepEqual(neighbours(alone), []);
  assert.deepEqual(neighbours({ ...ANSWER, name: [""], parent: [-1], total_ps: [0] }), []);
});
