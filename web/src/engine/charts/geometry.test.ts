import assert from "node:assert/strict";
import { test } from "node:test";
import { momentTicks } from "../axes/ticks.ts";
import { NONE_PICKED, pickAll, pickByKey, pickedRows, pickPlace } from "../table/row_selection.ts";
import { rowWindow, scrollToRow } from "../table/row_window.ts";
import { numberedBins, slowestBins } from "./bins.ts";
import { readableTop, stackPaths } from "./stacked_columns.ts";

test("bins cover every step once and show the slowest", () => {
  const values = [1, 9, 2, 3, 4, 5, 6];
  const bins = slowestBins(values, 0, 6, 3);
  assert.deepEqual(bins, [
    { first: 0, last: 2, shown: 1 },
    { first: 3, last: 5, shown: 5 },
    { first: 6, last: 6, shown: 6 },
  ]);
});

test("with room for all, each step is its own bin", () => {
  assert.equal(slowestBins([3, 2, 1], 1, 2, 100).length, 2);
});

test("a gap in the values is never taken for the slowest", () => {
  assert.equal(slowestBins([Number.NaN, 1], 0, 1, 1)[0]?.shown, 1);
});

test("round step numbers are put where they are", () => {
  const numbers = Array.from({ length: 100 }, (_, i) => i + 7);
  const labels = numberedBins(slowestBins(numbers, 0, 99, 50), numbers, 5);
  assert.deepEqual(
    labels.map((label) => label.number),
    [20, 40, 60, 80, 100],
  );
  assert.equal(labels[0]?.place, 6);
});

test("one column becomes one rectangle per part, on top of each other", () => {
  const layers = [
    { id: "a", values: Float64Array.of(2) },
    { id: "b", values: Float64Array.of(3) },
  ];
  const bins = slowestBins([5], 0, 0, 1);
  const paths = stackPaths(
    layers,
    bins,
    () => 10,
    4,
    (value) => 100 - value * 10,
    5,
  );
  assert.deepEqual(paths, ["M10.00 100.00h4.00V80.00h-4.00z", "M10.00 80.00h4.00V50.00h-4.00z"]);
});

test("columns are cut at the axis, whatever is above", () => {
  const layers = [
    { id: "a", values: Float64Array.of(2) },
    { id: "b", values: Float64Array.of(30) },
    { id: "c", values: Float64Array.of(1) },
  ];
  const paths = stackPaths(
    layers,
    slowestBins([33], 0, 0, 1),
    () => 0,
    1,
    (v) => 10 - v,
    4,
  );
  assert.equal(paths[1], "M0.00 8.00h1.00V6.00h-1.00z");
  assert.equal(paths[2], "");
});

test("a few giants do not flatten the rest, and are counted", () => {
  const values = [...Array.from({ length: 99 }, () => 10), 1000];
  assert.deepEqual(readableTop(values), { top: 16, cut: 1 });
  assert.deepEqual(readableTop([10, 11, 25]), { top: 25, cut: 0 });
  assert.deepEqual(readableTop([]), { top: 0, cut: 0 });
});

test("ticks share one unit and zero needs none", () => {
  assert.deepEqual(momentTicks(0, 0.25, 4).labels, [
    "0",
    "50 µs",
    "100 µs",
    "150 µs",
    "200 µs",
    "250 µs",
  ]);
  const seconds = momentTicks(0, 5000, 4);
  assert.deepEqual(seconds.labels.slice(0, 3), ["0", "1 s", "2 s"]);
  assert.deepEqual(seconds.values.slice(0, 3), [0, 1000, 2000]);
});

test("the window holds the visible rows and its top matches the first", () => {
  const span = rowWindow(240, 100, 1000, 10, 2);
  assert.deepEqual(span, { first: 22, end: 37, height: 10_000, top: 220 });
});

test("a list taller than a page can be still scrolls to its last row", () => {
  const rows = 2_000_000;
  const start = rowWindow(0, 480, rows, 24, 0);
  assert.equal(start.first, 0);
  const end = rowWindow(start.height - 480, 480, rows, 24, 0);
  assert.equal(end.end, rows);
  assert.ok(end.top + (end.end - end.first) * 24 <= start.height + 24);
});

test("a row in view needs no scrolling; others come to the nearest edge", () => {
  assert.equal(scrollToRow(5, 0, 240, 100, 24), null);
  assert.equal(scrollToRow(20, 0, 240, 100, 24), 21 * 24 - 240);
  assert.equal(scrollToRow(2, 480, 240, 100, 24), 48);
});

test("ranges grow from their anchor, single rows toggle", () => {
  let picked = pickPlace(NONE_PICKED, 3, "alone");
  picked = pickPlace(picked, 5, "range");
  assert.deepEqual([...picked.places], [3, 4, 5]);
  picked = pickPlace(picked, 1, "range");
  assert.deepEqual([...picked.places], [1, 2, 3]);
  picked = pickPlace(picked, 2, "toggle");
  assert.deepEqual([...picked.places], [1, 3]);
});

test("keys move within the rows there are", () => {
  const start = pickByKey(NONE_PICKED, "ArrowDown", false, 3, 10);
  assert.equal(start?.active, 0);
  assert.equal(start && pickByKey(start, "PageDown", false, 3, 10)?.active, 2);
  assert.equal(start && pickByKey(start, "ArrowUp", false, 3, 10)?.active, 0);
  assert.equal(pickByKey(NONE_PICKED, "x", false, 3, 10), null);
  assert.equal(pickByKey(NONE_PICKED, "Home", false, 0, 10), null);
});

test("with nothing picked, all shown rows are meant", () => {
  const shown = Uint32Array.of(7, 3);
  assert.equal(pickedRows(NONE_PICKED, shown), shown);
  assert.deepEqual(pickedRows(pickAll(2), shown), [7, 3]);
});
