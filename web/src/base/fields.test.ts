import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldLabel, fieldMeaning, fieldText } from "./fields.ts";

test("the suffix of a name gives its unit", () => {
  assert.equal(fieldText("self_time_us", 1500), "1.50 ms");
  assert.equal(fieldText("peak_bytes", 2048), "2.00 KiB");
  assert.equal(fieldText("busy_frac", 0.25), "25.0%");
});

test("a nested field inherits the unit of the one around it", () => {
  assert.equal(fieldText("mean", 12.5, "time_ms"), "12.5 ms");
  assert.deepEqual(fieldMeaning("mean", "time_ms"), { unit: "ms", kind: "time" });
});

test("labels are the server's; what it has none for is a name and stays", () => {
  const labels = { host_tf_op_frac: "Host TF op" };
  assert.equal(fieldLabel(labels, "host_tf_op_frac"), "Host TF op");
  assert.equal(fieldLabel(labels, "gpu_host_bfc"), "gpu_host_bfc");
});

test("what is not available is never a zero", () => {
  assert.equal(fieldText("busy_frac", null), "–");
  assert.equal(fieldText("framework", ""), "–");
});

test("a tool's own words are spelt plainly, names stay", () => {
  const words = { verdict: { not_input_bound: "not input bound" } };
  assert.equal(fieldText("id", "gpu_host_bfc", "", words), "gpu_host_bfc");
  assert.equal(fieldText("verdict", "not_input_bound", "", words), "not input bound");
  assert.equal(fieldText("name", "not_input_bound", "", words), "not_input_bound");
  assert.equal(fieldText("version", "2.21.0"), "2.21.0");
  assert.equal(fieldText("eager", true), "yes");
});
