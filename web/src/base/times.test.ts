import assert from "node:assert/strict";
import { test } from "node:test";
import { inWordsOf } from "./times.ts";

test("texts written for a step say recording where times are of one", () => {
  for (const [step, whole] of [
    ["Share of step", "Share of the recording"],
    ["Calls per step", "Calls in the recording"],
    ["Per step, all devices.", "In the recording, all devices."],
    ["Devices are idle 5% of the step.", "Devices are idle 5% of the recording."],
    ["Nothing is copied during a step.", "Nothing is copied during the recording."],
    [
      "Devices are never idle during a counted step.",
      "Devices are never idle during the recording.",
    ],
    ["Mean", "Mean"],
  ] as const) {
    assert.equal(inWordsOf("step", step), step);
    assert.equal(inWordsOf("recording", step), whole);
  }
});

test("texts stay where a result does not say what its times are of", () => {
  assert.equal(inWordsOf("", "Share of step"), "Share of step");
});
