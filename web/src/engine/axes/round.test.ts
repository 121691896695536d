import assert from "node:assert/strict";
import { test } from "node:test";
import { roundTicks } from "./round.ts";

test("ticks are multiples of 1, 2 or 5 times a power of ten", () => {
  assert.deepEqual(roundTicks(0, 100, 5).values, [0, 20, 40, 60, 80, 100]);
  assert.deepEqual(roundTicks(0, 9, 4).values, [0, 2, 4, 6, 8]);
  assert.deepEqual(roundTicks(0, 1, 2).values, [0, 0.5, 1]);
  assert.deepEqual(roundTicks(-1, 1, 4).values, [-1, -0.5, 0, 0.5, 1]);
});

test("multiples of small steps are not a hair beside them", () => {
  assert.deepEqual(roundTicks(0, 0.5, 5).values, [0, 0.1, 0.2, 0.3, 0.4, 0.5]);
  assert.deepEqual(roundTicks(0, 0.0003, 3).texts, ["0.0000", "0.0001", "0.0002", "0.0003"]);
});

test("texts have the decimals of their step", () => {
  assert.deepEqual(roundTicks(0, 0.4, 2).texts, ["0.0", "0.2", "0.4"]);
  assert.deepEqual(roundTicks(0, 3000, 3).texts, ["0", "1,000", "2,000", "3,000"]);
});

test("a single value is its own tick, and an empty span has none", () => {
  assert.deepEqual(roundTicks(5, 5, 4).values, [5]);
  assert.deepEqual(roundTicks(5, 4, 4).values, []);
  assert.deepEqual(roundTicks(0, Number.NaN, 4).values, []);
  assert.deepEqual(roundTicks(1e9, 1e9 + 10, 2).values, [1e9, 1e9 + 5, 1e9 + 10]);
});
