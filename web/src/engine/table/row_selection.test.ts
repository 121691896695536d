import assert from "node:assert/strict";
import { test } from "node:test";
import { followed, NONE_PICKED, pickAll, pickPlace } from "./row_selection.ts";
import { buildTable, type Table } from "./table.ts";

function runs(names: readonly string[], times: readonly number[]): Table {
  return buildTable({ rows: names.length, columns: { run: names, step_time_ms: times } }, []);
}

const BEFORE = { table: runs(["a", "b", "c"], [1, 2, 3]), rows: Uint32Array.of(0, 1, 2) };
const AGAIN = runs(["a", "b", "c"], [9, 2, 3]);

test("a row that was asked for again stays picked, wherever it is shown now", () => {
  const picked = pickPlace(NONE_PICKED, 0, "alone");
  const after = { table: AGAIN, rows: Uint32Array.of(2, 1, 0) };
  assert.deepEqual(followed(picked, BEFORE, after), {
    places: new Set([2]),
    anchor: 2,
    active: 2,
  });
});

test("rows that are shown no more are not picked", () => {
  const after = { table: AGAIN, rows: Uint32Array.of(2, 0) };
  const all = followed(pickAll(3), BEFORE, after);
  assert.deepEqual(all.places, new Set([0, 1]));
  const gone = pickPlace(NONE_PICKED, 1, "alone");
  assert.equal(followed(gone, BEFORE, after), NONE_PICKED);
});

test("other rows, or another order of the same table, pick nothing", () => {
  const picked = pickPlace(NONE_PICKED, 1, "alone");
  const rows = Uint32Array.of(0, 1, 2);
  const others = { table: runs(["a", "x", "c"], [1, 2, 3]), rows };
  assert.equal(followed(picked, BEFORE, others), NONE_PICKED);
  const fewer = { table: runs(["a", "b"], [1, 2]), rows: rows.slice(0, 2) };
  assert.equal(followed(picked, BEFORE, fewer), NONE_PICKED);
  const turned = { table: BEFORE.table, rows: Uint32Array.of(2, 1, 0) };
  assert.equal(followed(picked, BEFORE, turned), NONE_PICKED);
});
