import assert from "node:assert/strict";
import { test } from "node:test";
import { ringPath } from "./ring_path.ts";

test("a sector runs along its outer circle and back along its inner one", () => {
  // A quarter from the top clockwise: (0, -10) to (10, 0), back from (5, 0) to (0, -5).
  assert.equal(
    ringPath(0, 0.25, 5, 10),
    "M0.00 -10.00A10 10 0 0 1 10.00 0.00L5.00 0.00A5 5 0 0 0 0.00 -5.00Z",
  );
});

test("three quarters take the long way round", () => {
  assert.ok(ringPath(0, 0.75, 5, 10).includes("A10 10 0 1 1"));
});

test("the whole is a circle with a hole, without the seams of two halves", () => {
  assert.equal(
    ringPath(0, 1, 5, 10),
    "M0 -10A10 10 0 1 1 0 10A10 10 0 1 1 0 -10Z" + "M0 -5A5 5 0 1 0 0 5A5 5 0 1 0 0 -5Z",
  );
});
