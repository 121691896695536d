import assert from "node:assert/strict";
import { test } from "node:test";
import { counterShare } from "./counter.ts";

test("a linear row begins at its least value", () => {
  const share = counterShare({ least: 0, most: 200, leastPositive: 1 }, false);
  assert.deepEqual([0, 50, 200].map(share), [0, 0.25, 1]);
});

test("a logarithmic row gives each factor the same height, and 0 the foot", () => {
  const share = counterShare({ least: 0, most: 1000, leastPositive: 2 }, true);
  assert.equal(share(0), 0);
  assert.equal(share(1000), 1);
  assert.ok(Math.abs(share(100) - share(10) - (share(10) - share(1.0000001))) < 1e-6);
});

test("what falls below 0, or is never above it, stays linear", () => {
  assert.equal(counterShare({ least: -10, most: 10, leastPositive: 1 }, true)(0), 0.5);
  const never = { least: 0, most: 1, leastPositive: Number.POSITIVE_INFINITY };
  assert.equal(counterShare(never, true)(0.5), 0.5);
});
