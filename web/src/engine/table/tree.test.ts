import assert from "node:assert/strict";
import { test } from "node:test";
import type { NumberColumn } from "./table.ts";
import { shownRows, slicesOf, treeOf, treeOfTable, withAncestors } from "./tree.ts";

//   0 program 100
//   ├ 1 conv 60
//   │ ├ 2 a 20
//   │ └ 3 b 40
//   └ 4 idle 40
const TREE = treeOf([10, 11, 12, 13, 14], [-1, 10, 11, 11, 10]);
const VALUES = [100, 60, 20, 40, 40];
const COLUMN: NumberColumn = {
  type: "number",
  meta: { name: "t", label: "t", unit: "", kind: "time", help: "", sort: "", hidden: false },
  values: Float64Array.from(VALUES),
  shown: { scale: 1, unit: "µs" },
  decimals: 0,
  max: 100,
  available: 5,
};

test("depths and parents follow from ids", () => {
  assert.deepEqual([...TREE.depths], [0, 1, 2, 2, 1]);
  assert.deepEqual([...TREE.parents], [-1, 0, 1, 1, 0]);
  assert.deepEqual(TREE.roots, [0]);
});

test("rows of a table name their parents, or follow them with a depth", () => {
  const numbers = (name: string, values: number[]) => {
    const meta = { ...COLUMN.meta, name };
    return { ...COLUMN, meta, values: Float64Array.from(values) };
  };
  const named = [numbers("id", [10, 11, 12]), numbers("parent", [-1, 10, 10])];
  assert.deepEqual([...treeOfTable({ rows: 3, columns: named }).parents], [-1, 0, 0]);
  const deep = [numbers("depth", [0, 1, 2, 1, 0, 1])];
  const tree = treeOfTable({ rows: 6, columns: deep });
  assert.deepEqual([...tree.parents], [-1, 0, 1, 0, -1, 4]);
  assert.deepEqual(tree.roots, [0, 4]);
});

test("a row whose parent is unknown is a root, and a row cannot contain itself", () => {
  assert.deepEqual(treeOf([1, 2, 3], [99, 2, 1]).roots, [0, 1]);
});

test("only children of open rows are in sight, siblings in the order asked for", () => {
  const open = (row: number) => row < 2;
  assert.deepEqual(
    [...shownRows(TREE, open, { column: COLUMN, descending: true })],
    [0, 1, 3, 2, 4],
  );
  assert.deepEqual([...shownRows(TREE, open, null)], [0, 1, 2, 3, 4]);
  assert.deepEqual([...shownRows(TREE, () => false, null)], [0]);
});

test("what matches can be reached", () => {
  const marks = withAncestors(TREE, (row) => row === 3);
  assert.deepEqual([...marks], [1, 1, 0, 1, 0]);
  assert.deepEqual([...shownRows(TREE, () => true, null, marks)], [0, 1, 3]);
});

test("slices divide the width of their parent by value", () => {
  const slices = slicesOf(TREE, VALUES, 0, 3, 0.01);
  const of = (row: number) => slices.find((slice) => slice.row === row);
  assert.deepEqual(of(1), { row: 1, level: 1, from: 0, to: 0.6 });
  assert.deepEqual(of(4), { row: 4, level: 1, from: 0.6, to: 1 });
  assert.deepEqual(of(3), { row: 3, level: 2, from: 0, to: 0.4 });
  assert.equal(slicesOf(TREE, VALUES, 0, 2, 0.01).length, 3);
  assert.equal(
    slicesOf(TREE, VALUES, 0, 3, 0.3).some((slice) => slice.row === 2),
    false,
  );
  assert.deepEqual(slicesOf(TREE, [0, 0, 0, 0, 0], 0, 3, 0.1), []);
});

test("a chain of a hundred thousand rows needs no deep stack", () => {
  const ids = Array.from({ length: 100_000 }, (_, i) => i);
  const chain = treeOf(
    ids,
    ids.map((id) => id - 1),
  );
  assert.equal(shownRows(chain, () => true, null).length, 100_000);
});
