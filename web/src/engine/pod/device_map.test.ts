import assert from "node:assert/strict";
import { test } from "node:test";
import {
  binByKey,
  binned,
  deviceByCell,
  fromBase64,
  fromSteps,
  MIDDLE,
  NOTHING,
  ramp,
  valueOfByte,
} from "./device_map.ts";

test("numbers come back from their differences", () => {
  assert.deepEqual([...fromSteps([3, -1, 0, 5])], [3, 2, 2, 7]);
  assert.deepEqual([...fromSteps([])], []);
});

test("bytes come back from text", () => {
  assert.deepEqual([...fromBase64("AH3/")], [0, 125, 255]);
  assert.deepEqual([...fromBase64("")], []);
});

test("a cell knows its device, and one without a device says so", () => {
  assert.deepEqual([...deviceByCell(Int32Array.of(2, 0), 4)], [1, -1, 0, -1]);
});

test("a map that fits is drawn cell by cell", () => {
  const levels = Uint8Array.of(1, 2, 3, NOTHING);
  const bins = binned(levels, 2, 2, 10, 10);
  assert.deepEqual([...bins.level], [...levels]);
  assert.deepEqual([...bins.cell], [0, 1, 2, -1]);
});

test("a bin shows its worst cell, never the mean", () => {
  // One bad device among 100,000 is seen at any size.
  const levels = new Uint8Array(100_000).fill(MIDDLE);
  levels[77_777] = 250;
  const bins = binned(levels, 100, 1000, 50, 300);
  assert.equal(bins.level.filter((level) => level === 250).length, 1);
  assert.ok(bins.cell.includes(77_777));
  assert.ok(bins.rows <= 50 && bins.columns <= 300);
});

test("far below the median is as bad as far above it", () => {
  assert.deepEqual([...binned(Uint8Array.of(130, 0), 1, 2, 1, 1).level], [0]);
});

test("colours go from one end over the middle to the other", () => {
  const colours = ramp([0, 0, 255], [100, 100, 100], [255, 0, 0]);
  assert.deepEqual([...colours.slice(0, 4)], [0, 0, 255, 255]);
  assert.deepEqual([...colours.slice(4 * MIDDLE, 4 * MIDDLE + 4)], [100, 100, 100, 255]);
  assert.deepEqual([...colours.slice(4 * 250, 4 * 250 + 4)], [255, 0, 0, 255]);
  assert.equal(colours[4 * NOTHING + 3], 0);
});

test("bytes stand for values around the median", () => {
  assert.equal(valueOfByte(MIDDLE, 10, 4), 10);
  assert.equal(valueOfByte(0, 10, 4), 6);
  assert.equal(valueOfByte(250, 10, 4), 14);
  assert.ok(Number.isNaN(valueOfByte(NOTHING, 10, 4)));
});

test("arrow keys move in rows and columns and stop at the edge", () => {
  const bins = binned(new Uint8Array(6), 2, 3, 9, 9);
  assert.equal(binByKey("ArrowRight", 0, bins), 1);
  assert.equal(binByKey("ArrowDown", 1, bins), 4);
  assert.equal(binByKey("ArrowDown", 4, bins), 4);
  assert.equal(binByKey("ArrowLeft", 3, bins), 3);
  assert.equal(binByKey("End", 3, bins), 5);
  assert.equal(binByKey("ArrowRight", -1, bins), 0);
  assert.equal(binByKey("x", 2, bins), null);
});
