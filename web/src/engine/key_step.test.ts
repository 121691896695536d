import assert from "node:assert/strict";
import { test } from "node:test";
import { placeByKey, tipLeft } from "./key_step.ts";

test("arrow keys read from either end and stop there", () => {
  assert.equal(placeByKey("ArrowRight", -1, 4), 0);
  assert.equal(placeByKey("ArrowLeft", -1, 4), 4);
  assert.equal(placeByKey("ArrowRight", 4, 4), 4);
  assert.equal(placeByKey("ArrowLeft", 0, 4), 0);
  assert.equal(placeByKey("PageDown", 1, 40, 20), 21);
  assert.equal(placeByKey("End", 1, 40), 40);
});

test("other keys are left to others, and nothing is read where nothing is", () => {
  assert.equal(placeByKey("Tab", 1, 4), null);
  assert.equal(placeByKey("Home", -1, -1), null);
});

test("a tip changes sides where it would leave the chart", () => {
  assert.equal(tipLeft(100, 900, 300), 114);
  assert.equal(tipLeft(700, 900, 300), 386);
  assert.equal(tipLeft(100, 200, 300), 0);
});
