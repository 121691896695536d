import assert from "node:assert/strict";
import { test } from "node:test";
import { courseFrom } from "./course.ts";

const RUNS = ["e", "d", "c", "b", "a"];

test("from either end the course is over all runs", () => {
  assert.deepEqual(courseFrom(RUNS, "e", "d"), { from: "a", name: "All runs" });
  assert.deepEqual(courseFrom(RUNS, "a", "b"), { from: "e", name: "All runs" });
});

test("a run in the middle has those to the farther end", () => {
  assert.deepEqual(courseFrom(RUNS, "d", "c"), { from: "a", name: "Runs since the oldest" });
  assert.deepEqual(courseFrom(RUNS, "b", "a"), { from: "e", name: "Runs up to the newest" });
});

test("a baseline with runs between is kept, on either side", () => {
  assert.deepEqual(courseFrom(RUNS, "e", "b"), { from: "b", name: "Runs between" });
  assert.deepEqual(courseFrom(RUNS, "b", "d"), { from: "d", name: "Runs between" });
});

test("without runs between there is none", () => {
  assert.equal(courseFrom(["c", "b", "a"], "b", "a"), null);
  assert.equal(courseFrom(["c", "b", "a"], "gone", "a"), null);
});
