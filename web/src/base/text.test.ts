import assert from "node:assert/strict";
import { test } from "node:test";
import { headAndTail, shortened, visible, withUnits } from "./text.ts";

test("control characters are seen and direction marks cannot turn the line", () => {
  assert.equal(visible("\u001b[31mred"), "\u241b[31mred");
  assert.equal(visible("a\u202eb"), "a\ufffdb");
  assert.equal(visible("a\tb\nc"), "a\tb\nc");
  assert.equal(visible("<b>é中</b>"), "<b>é中</b>");
});

test("a long path keeps its last step whole", () => {
  assert.deepEqual(headAndTail("model/block_3/conv2d/Conv2D"), ["model/block_3/conv2d", "/Conv2D"]);
});

test("a long name without a path keeps its end", () => {
  const [head, tail] = headAndTail("void_EigenMetaKernel_with_arguments_int");
  assert.equal(tail, "ments_int");
  assert.equal(head + tail, "void_EigenMetaKernel_with_arguments_int");
});

test("a short name is not divided", () => {
  assert.deepEqual(headAndTail("n/_1"), ["", "n/_1"]);
});

test("a name is cut in the middle to the length asked for", () => {
  assert.equal(shortened("abcdefghij", 7), "abc…hij");
  assert.equal(shortened("abc", 7), "abc");
});

test("a number stays with its unit", () => {
  assert.equal(withUnits("70 % of each 21.3 ms step"), "70\u00a0% of each 21.3\u00a0ms step");
  assert.equal(withUnits("97 other ops"), "97 other ops");
});
