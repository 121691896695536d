import assert from "node:assert/strict";
import { test } from "node:test";
import type { TimelineSteps } from "../../base/timeline.ts";
import { stepBlocks } from "./step_blocks.ts";

function steps(...spans: readonly (readonly [number, number])[]): TimelineSteps {
  return {
    host: 0,
    source: "markers",
    num: spans.map((_, i) => 10 + i),
    name: spans.map((_, i) => (i === 0 ? "first" : "")),
    begin_ps: spans.map(([begin]) => begin),
    end_ps: spans.map(([, end]) => end),
  };
}

test("steps wide enough to see are blocks of their own, by turns", () => {
  const found = stepBlocks(steps([0, 100], [100, 180]), { begin: 50, end: 250 }, 200);
  assert.deepEqual(found, [
    { x: 0, width: 50, text: "first", count: 1, odd: false },
    { x: 50, width: 80, text: "11", count: 1, odd: true },
  ]);
});

test("a thousand steps of a tenth of a pixel are one block that counts them", () => {
  const many = Array.from({ length: 1000 }, (_, i) => [i, i + 1] as const);
  const found = stepBlocks(steps(...many), { begin: 0, end: 1000 }, 100);
  assert.deepEqual(found, [{ x: 0, width: 100, text: "1000 steps", count: 1000, odd: false }]);
});

test("a gap ends a run, and so does a step that is wide enough", () => {
  const found = stepBlocks(steps([0, 1], [1, 2], [20, 21], [21, 60], [60, 61]), WHOLE, 100);
  assert.deepEqual(
    found.map(({ x, width, count }) => [x, width, count]),
    [
      [0, 2, 2],
      [20, 1, 1],
      [21, 39, 1],
      [60, 1, 1],
    ],
  );
});

test("steps beside the view are left out", () => {
  assert.deepEqual(stepBlocks(steps([0, 10], [90, 99]), { begin: 20, end: 80 }, 60), []);
});

const WHOLE = { begin: 0, end: 100 };

test("one step a little wider than its neighbours does not cut the block", () => {
  const spans = Array.from({ length: 30 }, (_, i) => [i * 2.9, (i + 1) * 2.9] as const);
  const uneven = spans.map(([begin, end], i) =>
    i < 11 ? ([begin, end] as const) : ([begin + 0.4, end + 0.4] as const),
  );
  const one = steps(
    ...(uneven.map(([begin, end], i) => (i === 10 ? [begin, end + 0.4] : [begin, end])) as [
      number,
      number,
    ][]),
  );
  assert.deepEqual(
    stepBlocks(one, WHOLE, 100).map(({ count }) => count),
    [30],
  );
});
