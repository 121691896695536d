import assert from "node:assert/strict";
import { test } from "node:test";
import { filled, valuesOf } from "./template.ts";

const RESULT = {
  step_time_ms: 12.5,
  idle_ms: null,
  verdict: "healthy",
  slow: 0,
  straggler: { host: "a", device: "" },
  models: { rows: 2, columns: { latency_us: [40, 50], name: ["x", "y"] } },
  summary: ["first", "second"],
};
const text = (template: string) => filled(template, valuesOf(RESULT, { chosen: 7 }));

test("values have their units, wherever they are", () => {
  assert.equal(text("{step_time_ms} and {models.latency_us}"), "12.5 ms and 40.0 µs");
  assert.equal(
    text("{models.1.name} of {models.rows}, {summary.1}, {chosen}"),
    "y of 2, second, 7",
  );
});

test("what lacks a value gives way to the next, or is left out", () => {
  assert.equal(text("{idle_ms} idle | none"), "none");
  assert.equal(text("{idle_ms}"), null);
  assert.equal(text("{straggler.host}[ on {straggler.device}]."), "a.");
});

test("a condition prints nothing", () => {
  assert.equal(text("{verdict=healthy?}good | bad"), "good");
  assert.equal(text("{verdict=input_bound?}good | bad"), "bad");
  assert.equal(text("{slow?}some | none"), "none");
  assert.equal(text("{slow}"), "0");
});

test("text of a recording is no template", () => {
  assert.equal(
    filled("{name}", () => "{step_time_ms}[x]"),
    "{step_time_ms}[x]",
  );
});
