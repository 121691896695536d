import assert from "node:assert/strict";
import { test } from "node:test";
import type { TimelineMeta } from "../../base/timeline.ts";
import { aligned, shifted } from "./alignment.ts";

function meta(begin: number, steps: readonly (readonly [number, number])[]): TimelineMeta {
  const num = steps.map(([each]) => each);
  const begins = steps.map(([, at]) => at);
  const listed = [{ host: 0, source: "markers", num, name: [], begin_ps: begins, end_ps: begins }];
  return {
    begin_ps: begin,
    steps: steps.length > 0 ? listed : [],
  } as unknown as TimelineMeta;
}

const FIRST = meta(0, [
  [7, 100],
  [8, 200],
  [9, 300],
]);
const SECOND = meta(5, [
  [8, 1000],
  [9, 1150],
]);

test("the step that is wanted begins at once in both", () => {
  assert.deepEqual(aligned(FIRST, SECOND, 9, { begin: 0, end: 1 }), { offset: 850, step: 9 });
});

test("else it is the first in view that both have, else the first of both", () => {
  assert.equal(aligned(FIRST, SECOND, null, { begin: 250, end: 900 }).step, 9);
  assert.equal(aligned(FIRST, SECOND, 7, { begin: 0, end: 150 }).step, 8);
});

test("without a number in common first steps or beginnings meet", () => {
  const other = meta(5, [[77, 400]]);
  assert.deepEqual(aligned(FIRST, other, 8, { begin: 0, end: 9 }), { offset: 300, step: null });
  assert.deepEqual(aligned(meta(3, []), meta(10, []), null, { begin: 0, end: 9 }), {
    offset: 7,
    step: null,
  });
  assert.deepEqual(shifted({ begin: 1, end: 2 }, 7), { begin: 8, end: 9 });
});
