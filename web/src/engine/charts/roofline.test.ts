import assert from "node:assert/strict";
import { test } from "node:test";
import { ceilingsOf, extentOf, ridgeAt, slopeOf } from "./roofline.ts";

const MEMORIES = ["HBM", "HBM", "HBM", "read", "read", "read", "write", "write", "write"];
const INTENSITIES = [0.01, 100, 1e6, 0.001, 10, 1e5, 0.001, 10, 1e5];
const RATES = [0.1, 1000, 1000, 0.1, 1000, 1000, 0.1, 1000, 1000];

test("a ceiling bends where its peak is reached, and equal ones are one", () => {
  assert.deepEqual(ceilingsOf(MEMORIES, INTENSITIES, RATES), [
    { memories: ["HBM"], ridge: 100, peak: 1000 },
    { memories: ["read", "write"], ridge: 10, peak: 1000 },
  ]);
  assert.deepEqual(ceilingsOf([], [], []), []);
});

test("the axes hold every point that a logarithmic axis can hold", () => {
  const { x, y } = extentOf(
    [0, 8, Number.NaN],
    [5, 40, 0],
    [{ memories: [], ridge: 100, peak: 1000 }],
  );
  assert.deepEqual(x, [2, 400]);
  assert.deepEqual(y, [1.25, 2500]);
  assert.ok(extentOf([], [], []).x[0] > 0);
});

test("a slope runs at its bandwidth from the edge of the picture to the ridge", () => {
  const ceiling = { memories: ["HBM"], ridge: 100, peak: 1000 };
  assert.deepEqual(slopeOf(ceiling, { x: [1, 400], y: [50, 2500] }), {
    x1: 5,
    y1: 50,
    x2: 100,
    y2: 1000,
  });
  assert.equal(slopeOf(ceiling, { x: [200, 400], y: [50, 2500] }), null);
});

test("the roof of a slower type begins where the steepest slope reaches it", () => {
  const steep = { memories: ["read"], ridge: 10, peak: 1000 };
  const flat = { memories: ["HBM"], ridge: 100, peak: 1000 };
  assert.equal(ridgeAt(500, [flat, steep]), 5);
  assert.equal(ridgeAt(500, []), null);
});
