import assert from "node:assert/strict";
import { test } from "node:test";
import { exactPattern } from "./exact_pattern.ts";

test("a name matches itself and nothing longer", () => {
  const name = "void f<(a)0>(int*, float[2]) {x|y} \\d $ ^ ? + .";
  assert.match(name, new RegExp(exactPattern(name)));
  assert.doesNotMatch(`${name}x`, new RegExp(exactPattern(name)));
  assert.doesNotMatch(`x${name}`, new RegExp(exactPattern(name)));
});

test("a very long name matches by its beginning", () => {
  const name = `Eigen::${"x".repeat(900)}`;
  assert.match(name, new RegExp(exactPattern(name)));
  assert.ok(exactPattern(name).length < 320);
});
