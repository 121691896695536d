import assert from "node:assert/strict";
import { test } from "node:test";
import { EMPTY_FORM, orderOf, PRESETS, presetOf } from "./capture_request.ts";

test("a form becomes an order with the levels as numbers", () => {
  assert.deepEqual(orderOf({ ...EMPTY_FORM, addresses: " a:1 ,\nb:2;", host: "all" }), {
    addresses: "a:1,b:2",
    duration_ms: 2000,
    host_tracer_level: 3,
    python_tracer_level: 0,
    device_tracer_level: 1,
    delay_ms: 0,
    attempts: 3,
  });
});

test("steps are in the place of the duration", () => {
  const order = orderOf({ ...EMPTY_FORM, by: "steps", steps: "5" });
  assert.ok(typeof order === "object");
  assert.equal(order.steps, 5);
  assert.equal(order.duration_ms, undefined);
});

test("what is missing is named", () => {
  assert.match(String(orderOf({ ...EMPTY_FORM, addresses: " , " })), /at least one address/);
  assert.match(String(orderOf({ ...EMPTY_FORM, duration: "soon" })), /duration/);
  assert.match(String(orderOf({ ...EMPTY_FORM, duration: "0" })), /duration/);
  assert.match(String(orderOf({ ...EMPTY_FORM, by: "steps", steps: "1.5" })), /steps/);
  assert.match(String(orderOf({ ...EMPTY_FORM, delay: "-1" })), /delay/);
  assert.match(String(orderOf({ ...EMPTY_FORM, attempts: "" })), /attempt/);
});

test("every preset is an order, and is known again in the form", () => {
  for (const preset of PRESETS) {
    const form = { ...EMPTY_FORM, ...preset.form };
    assert.equal(typeof orderOf(form), "object", preset.name);
    assert.equal(presetOf(form), preset);
  }
  assert.equal(presetOf({ ...EMPTY_FORM, duration: "1234" }), undefined);
});
