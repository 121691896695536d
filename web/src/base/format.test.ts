import assert from "node:assert/strict";
import { test } from "node:test";
import {
  aligned,
  bytes,
  columnDecimals,
  count,
  duration,
  fixed,
  flopRate,
  moment,
  percent,
  plural,
  roughly,
  significant,
  wholePercent,
} from "./format.ts";

test("a time is shown in the unit that suits its size", () => {
  assert.equal(duration(71.2, "ms"), "71.2 ms");
  assert.equal(duration(0.0712, "ms"), "71.2 µs");
  assert.equal(duration(1234.5, "ms"), "1.23 s");
  assert.equal(duration(3, "ps"), "3.00 ps");
  assert.equal(duration(0.5, "ps"), "0.500 ps");
  assert.equal(duration(-2.5, "s"), "−2.50 s");
});

test("numbers are rounded as the terminal rounds them", () => {
  assert.equal(fixed(1.005, 2), "1.00");
});

test("zero keeps the unit it was given in", () => {
  assert.equal(duration(0, "µs"), "0 µs");
});

test("a time just below a unit's limit does not print four digits", () => {
  assert.equal(duration(999.96, "µs"), "1.00 ms");
});

test("a share that is not zero never reads as zero", () => {
  assert.equal(percent(0), "0.0%");
  assert.equal(percent(0.0001), "<0.1%");
  assert.equal(percent(-0.0001), ">-0.1%");
  assert.equal(percent(0.5824), "58.2%");
});

test("rounding to nothing leaves no minus sign", () => {
  assert.equal(fixed(-0.001, 2), "0.00");
  assert.equal(fixed(-1.5, 1), "−1.5");
  assert.equal(fixed(-1234567.89, 1), "−1,234,567.9");
  assert.equal(fixed(123456, 0), "123,456");
  assert.equal(fixed(999.96, 1), "1,000.0");
});

test("sizes are binary and small ones exact", () => {
  assert.equal(bytes(1023), "1,023 B");
  assert.equal(bytes(1536), "1.50 KiB");
  assert.equal(bytes(16 * 1024 ** 3), "16.0 GiB");
});

test("significant digits survive very small and very large numbers", () => {
  assert.equal(significant(0), "0");
  assert.equal(significant(0.0000012), "1.20e-6");
  assert.equal(significant(12345.6), "12,346");
});

test("a column's decimals follow its middle value and ignore zeros and gaps", () => {
  assert.equal(columnDecimals([0, Number.NaN, 0.12, 0.34, 1000]), 3);
  assert.equal(columnDecimals([120.5, 340.25, 0.001]), 0);
  assert.equal(columnDecimals([1, 2, 3]), 0);
  assert.equal(columnDecimals([]), 0);
});

test("a number too small for its column is not shown as zero", () => {
  assert.equal(aligned(0.004, 1), "<0.1");
  assert.equal(aligned(0, 1), "0.0");
  assert.equal(aligned(12.345, 1), "12.3");
});

test("what is not a number is missing", () => {
  assert.equal(duration(Number.NaN, "ms"), "–");
  assert.equal(percent(Number.NaN), "–");
  assert.equal(significant(Number.POSITIVE_INFINITY), "–");
});

test("counts and plurals", () => {
  assert.equal(count(2052510), "2,052,510");
  assert.equal(plural(1, "step"), "1 step");
  assert.equal(plural(2000, "step"), "2,000 steps");
  assert.equal(plural(0, "class", "classes"), "0 classes");
});

test("a FLOP rate is shown in the unit that suits its size", () => {
  assert.equal(flopRate(918_000), "918 TFLOP/s");
  assert.equal(flopRate(1_307_443.2), "1.31 PFLOP/s");
  assert.equal(flopRate(4.472), "4.47 GFLOP/s");
  assert.equal(flopRate(0.0005), "500 kFLOP/s");
  assert.equal(flopRate(0), "0 FLOP/s");
  assert.equal(flopRate(Number.NaN), "–");
});

test("an estimate has two digits, a share in a sentence none after the point", () => {
  assert.equal(roughly(3.565773, "ms"), "3.6 ms");
  assert.equal(roughly(21.31, "ms"), "21 ms");
  assert.equal(roughly(0.71, "ms"), "710 µs");
  assert.equal(roughly(-0.0712, "ms"), "−71 µs");
  assert.equal(roughly(0, "ms"), "0 ms");
  assert.equal(wholePercent(0.167), "17 %");
  assert.equal(wholePercent(0.0002), "<1 %");
  assert.equal(wholePercent(1), "100 %");
});

test("moments are local, and sort as texts do", () => {
  const here = moment(new Date(2026, 0, 9, 8, 5).toISOString());
  assert.equal(here, "2026-01-09 08:05");
  assert.ok(here < moment(new Date(2026, 9, 1, 0, 0).toISOString()));
  assert.equal(moment("not a time"), "not a time");
});
