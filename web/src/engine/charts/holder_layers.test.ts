import assert from "node:assert/strict";
import { test } from "node:test";
import { holderLayers } from "./holder_layers.ts";

test("rows are moments of holders, also where two moments have the same time", () => {
  const rows = { time_ms: [1, 1, 1, 1, 2, 2], held_bytes: [10, 5, 20, 5, 0, 7] };
  const { xs, held } = holderLayers(rows, 2);
  assert.deepEqual(Array.from(xs), [1, 1, 2]);
  assert.deepEqual(
    held.map((each) => Array.from(each)),
    [
      [10, 20, 0],
      [5, 5, 7],
    ],
  );
});

test("a memory that holds nothing has no layers", () => {
  assert.deepEqual(holderLayers({ time_ms: [], held_bytes: [] }, 0).held, []);
});
