import assert from "node:assert/strict";
import { test } from "node:test";
import type { TimelineTrack } from "../../base/timeline.ts";
import { budgets, SCREEN_SLICES } from "./tile_budget.ts";
import { groupLanes, TILE_PX } from "./tile_grid.ts";

const LEVEL = 20;
const TILE_PS = TILE_PX * 2 ** LEVEL;

/** A track over ten tiles. */
function track(id: number, lanes: number, events: number): TimelineTrack {
  const rest = { section: 0, kind: "thread", name: "t", derived: false, unit: "" };
  return { id, lanes, events, begin_ps: 0, end_ps: 10 * TILE_PS, least: null, most: null, ...rest };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, each) => all + each, 0);
}

test("however many tiles there are, a screen stays within its slices", () => {
  const tracks = [track(0, 96, 1e8)];
  const groups = groupLanes(tracks);
  const wanted = groups.flatMap(({ id }) =>
    [0, 1, 2, 3, 4].map((index) => ({ group: id, level: LEVEL, index })),
  );
  assert.equal(wanted.length, 15);
  const found = budgets(wanted, groups, tracks);
  assert.ok(sum(found) <= SCREEN_SLICES);
  assert.ok(sum(found) > SCREEN_SLICES - wanted.length);
  assert.equal(Math.min(...found), Math.max(...found));
});

test("a tile with a thousand times the events gets nearly all that is to share", () => {
  const tracks = [track(0, 32, 1e5), track(1, 32, 1e2)];
  const groups = groupLanes(tracks);
  const wanted = [0, 1].map((group) => ({ group, level: LEVEL, index: 3 }));
  // 10,000 and 10 slices expected; 23,800 to share, and no tile takes more than 6,000.
  assert.deepEqual(budgets(wanted, groups, tracks), [6000, 100 + 23]);
});

test("beside the trace, and without events, every tile still gets some", () => {
  const tracks = [track(0, 1, 0)];
  const groups = groupLanes(tracks);
  const wanted = [-1, 3, 12].map((index) => ({ group: 0, level: LEVEL, index }));
  for (const most of budgets(wanted, groups, tracks)) assert.ok(most >= 100);
  assert.deepEqual(budgets([], groups, tracks), []);
});
