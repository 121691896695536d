import assert from "node:assert/strict";
import { test } from "node:test";
import { seriesFrom } from "./run_series.ts";

const RUNS = ["e", "d", "c", "b", "a"];

test("from either end the series is over all runs", () => {
  assert.deepEqual(seriesFrom(RUNS, "e", "d"), { from: "a", name: "All runs" });
  assert.deepEqual(seriesFrom(RUNS, "a", "b"), { from: "e", name: "All runs" });
});

test("a run in the middle has those to the farther end", () => {
  assert.deepEqual(seriesFrom(RUNS, "d", "c"), { from: "a", name: "Runs since the oldest" });
  assert.deepEqual(seriesFrom(RUNS, "b", "a"), { from: "e", name: "Runs up to the newest" });
});

test("a baseline with runs between is kept, on either side", () => {
  assert.deepEqual(seriesFrom(RUNS, "e", "b"), { from: "b", name: "Runs between" });
  assert.deepEqual(seriesFrom(RUNS, "b", "d"), { from: "d", name: "Runs between" });
});

test("without runs between there is none", () => {
  assert.equal(seriesFrom(["c", "b", "a"], "b", "a"), null);
  assert.equal(seriesFrom(["c", "b", "a"], "gone", "a"), null);
});
