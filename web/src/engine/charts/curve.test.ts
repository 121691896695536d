import assert from "node:assert/strict";
import { test } from "node:test";
import { byteTicks, momentTicks, powerTicks, shareTicks, wholeTicks } from "../axes/ticks.ts";
import { areaPath, indexAt, linePath, nearestTo, stacked } from "./curve.ts";

const same = (value: number) => value;

test("the point under the pointer is the last one before it, or the nearest", () => {
  const xs = [1, 3, 3, 7];
  assert.equal(indexAt(xs, 0), 0);
  assert.equal(indexAt(xs, 3), 2);
  assert.equal(indexAt(xs, 6.9), 2);
  assert.equal(indexAt(xs, 99), 3);
  assert.equal(indexAt([], 1), -1);
  assert.equal(nearestTo(xs, 5.1), 3);
  assert.equal(nearestTo(xs, 4.9), 2);
  assert.equal(nearestTo([], 4), -1);
});

test("a level holds until the next point", () => {
  assert.equal(linePath([0, 10], [5, 8], same, same, true), "M0.0 5.0H10.0V8.0");
  assert.equal(linePath([0, 10], [5, 8], same, same, false), "M0.0 5.0L10.0 8.0");
});

test("points that are not known are left out", () => {
  assert.equal(linePath([0, 1, 2], [5, Number.NaN, 7], same, same, false), "M0.0 5.0L2.0 7.0");
  assert.equal(linePath([0, 1], [Number.NaN, Number.NaN], same, same, true), "");
});

test("a million points in one pixel keep their least and greatest", () => {
  const xs = Float64Array.from({ length: 1_000_000 }, (_, i) => i / 1_000_000);
  const ys = Float64Array.from({ length: 1_000_000 }, (_, i) => (i === 777 ? 99 : 10));
  ys[500_000] = 1;
  const path = linePath(xs, ys, same, same, false);
  assert.ok(path.includes(" 99.0") && path.includes(" 1.0"), path);
  assert.ok(path.length < 60, path);
});

test("an area of levels reaches the end and returns along its base", () => {
  assert.equal(areaPath([0, 10], [5, 8], same, same, true, 20), "M0.0 5.0H10.0V8.0H20.0V0.0H0.0Z");
});

test("stacked series are on each other, unknown values on nothing", () => {
  const [first, second] = stacked([
    [1, 2],
    [10, Number.NaN],
  ]);
  assert.deepEqual([...(first ?? [])], [1, 2]);
  assert.deepEqual([...(second ?? [])], [11, 2]);
});

test("ticks of sizes are round in a binary unit", () => {
  const { values, labels } = byteTicks(0, 6_210_111_488, 4);
  assert.deepEqual(labels, ["0", "2 GiB", "4 GiB"]);
  assert.equal(values[1], 2 * 1024 ** 3);
  assert.deepEqual(byteTicks(0, 1500, 3).labels, ["0", "500 B", "1,000 B", "1,500 B"]);
});

test("moments far from zero keep few digits", () => {
  assert.deepEqual(momentTicks(0, 2800, 3).labels, ["0", "1 s", "2 s"]);
  assert.deepEqual(momentTicks(2578.4, 2580.4, 2).labels, ["2,579 ms", "2,580 ms"]);
});

test("shares, powers and whole numbers are labelled as such", () => {
  assert.deepEqual(shareTicks(0, 0.3, 3).labels, ["0%", "10%", "20%", "30%"]);
  assert.deepEqual(powerTicks(0.05, 2000, 10).labels, ["0.1", "1", "10", "100", "1,000"]);
  assert.deepEqual(powerTicks(1, 1e6, 3).values, [1, 1000, 1e6]);
  assert.deepEqual(wholeTicks(0, 3, 10).values, [0, 1, 2, 3]);
});
