import assert from "node:assert/strict";
import { test } from "node:test";
import { drawnRows, extentOf, rowUnder } from "./query_rows.ts";

const ROWS = {
  lanes: 2,
  begin_ps: [0, 100, 150, 900],
  end_ps: [50, 300, 200, 1000],
  lane: [0, 0, 1, 0],
};

test("rows are drawn where they lie, cut at the edges of the view", () => {
  assert.deepEqual(drawnRows(ROWS, { begin: 40, end: 240 }, 200), [
    { row: 0, left: 0, right: 10, lane: 0 },
    { row: 1, left: 60, right: 200, lane: 0 },
    { row: 2, left: 110, right: 160, lane: 1 },
  ]);
});

test("rows too narrow to be seen are a pixel, and those within it are one", () => {
  const many = {
    lanes: 1,
    begin_ps: [0, 1, 2, 900_000],
    end_ps: [1, 2, 3, 900_001],
    lane: [0, 0, 0, 0],
  };
  const drawn = drawnRows(many, { begin: 0, end: 1_000_000 }, 1000);
  assert.deepEqual(
    drawn.map(({ row }) => row),
    [0, 3],
  );
  assert.equal((drawn[0]?.right ?? 0) - (drawn[0]?.left ?? 0), 1);
});

test("the row under a point is of its lane, or the nearest within reach", () => {
  const drawn = drawnRows(ROWS, { begin: 0, end: 1000 }, 1000);
  assert.equal(rowUnder(drawn, 0, 160), 1);
  assert.equal(rowUnder(drawn, 1, 160), 2);
  assert.equal(rowUnder(drawn, 0, 302), 1);
  assert.equal(rowUnder(drawn, 0, 600), -1);
});

test("the extent is from the first begin to the last end", () => {
  assert.deepEqual(extentOf(ROWS), { begin: 0, end: 1000 });
  assert.equal(extentOf({ lanes: 0, begin_ps: [], end_ps: [], lane: [] }), null);
});
