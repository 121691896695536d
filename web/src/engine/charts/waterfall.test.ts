import assert from "node:assert/strict";
import { test } from "node:test";
import { waterfall } from "./waterfall.ts";

test("bars lead from the first total to the second, the largest change first", () => {
  const { bars, low, high } = waterfall(
    10,
    [
      { name: "a", delta: 1 },
      { name: "b", delta: -4 },
      { name: "c", delta: 2 },
    ],
    8,
  );
  assert.deepEqual(
    bars.map((bar) => [bar.name, bar.from, bar.to, bar.end]),
    [
      ["Before", 0, 10, 10],
      ["b", 6, 10, 6],
      ["c", 6, 8, 8],
      ["a", 8, 9, 9],
      ["After", 0, 9, 9],
    ],
  );
  assert.equal(low, 0);
  assert.equal(high, 10);
});

test("small changes share one bar, so that the sum stays", () => {
  const changes = Array.from({ length: 20 }, (_, i) => ({ name: `op ${i}`, delta: i + 1 }));
  const { bars } = waterfall(100, changes, 3);
  assert.deepEqual(
    bars.map((bar) => bar.name),
    ["Before", "op 19", "op 18", "op 17", "17 others", "After"],
  );
  assert.equal(bars.at(-1)?.to, 100 + 210);
});

test("changes that are small against the step get room", () => {
  const { low, high } = waterfall(100, [{ name: "a", delta: 2 }], 8);
  assert.equal(high, 102);
  assert.equal(low, 98);
});

test("nothing changed: two totals and no bar between", () => {
  const { bars, low } = waterfall(5, [{ name: "a", delta: 0 }], 8);
  assert.deepEqual(
    bars.map((bar) => bar.name),
    ["Before", "After"],
  );
  assert.equal(low, 0);
});
