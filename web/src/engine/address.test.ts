import assert from "node:assert/strict";
import { test } from "node:test";
import { formatHash, narrowed, parseHash, subParams, withSubParams } from "./address.ts";

test("an address survives the round trip, awkward names included", () => {
  const route = {
    page: "framework_op_stats",
    run: "a/b c&d=<x>",
    host: "worker-0:6003",
    per: "recording",
    selection: { device: "GPU:0", steps: "10-20" },
    params: { group_by: "type", "ops.q": "/a|b/", "ops.sort": "-self_time_us" },
  };
  assert.deepEqual(parseHash(formatHash(route)), route);
});

test("what says nothing is left out", () => {
  assert.equal(
    formatHash({ page: "overview", run: "", host: "", per: "", selection: {}, params: { q: "" } }),
    "#/overview",
  );
});

test("no address is the empty page", () => {
  assert.deepEqual(parseHash(""), {
    page: "",
    run: "",
    host: "",
    per: "",
    selection: {},
    params: {},
  });
});

test("the part that was selected last is last, and is taken off by an empty value", () => {
  const { selection } = parseHash("#/kernels?device=3&q=x&steps=10-20");
  assert.deepEqual(Object.keys(selection), ["device", "steps"]);
  const other = narrowed(selection, "device", "4");
  assert.deepEqual(Object.entries(other), [
    ["steps", "10-20"],
    ["device", "4"],
  ]);
  assert.deepEqual(narrowed(other, "device", ""), { steps: "10-20" });
});

test("a broken escape is text, not an error", () => {
  assert.equal(parseHash("#/%E0%A4%A").page, "%E0%A4%A");
});

test("parameters of one table do not touch another's", () => {
  const params = { "a.q": "x", "ab.q": "y", where: "host" };
  assert.deepEqual(subParams(params, "a"), { q: "x" });
  assert.deepEqual(withSubParams(params, "a", { sort: "-t" }), {
    "ab.q": "y",
    where: "host",
    "a.sort": "-t",
  });
});
