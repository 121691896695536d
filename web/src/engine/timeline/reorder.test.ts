import assert from "node:assert/strict";
import { test } from "node:test";
import type { TimelineMeta, TimelineTrack } from "../../base/timeline.ts";
import { AS_RECORDED, arrange, orderedTracks, SECTION_PX } from "./arrangement.ts";
import { dropAt, dropped } from "./reorder.ts";

function track(id: number, section: number): TimelineTrack {
  const rest = { kind: "thread", name: `t${id}`, derived: false, lanes: 1, events: 1, unit: "" };
  return { id, section, begin_ps: 0, end_ps: 1, least: null, most: null, ...rest };
}

const TRACKS = [track(0, 0), track(1, 0), track(2, 0), track(3, 1)];
const META = {
  tracks: TRACKS,
  sections: [
    { id: 0, host: 0, kind: "host", name: "CPU", tracks: [0, 1, 2] },
    { id: 1, host: 0, kind: "other", name: "more", tracks: [3] },
  ],
} as unknown as TimelineMeta;
// Every track takes 22 px below the heading of 24.
const LAYOUT = arrange(META, AS_RECORDED);

function order(moved: number, y: number): number[] | null {
  const drop = dropAt(LAYOUT, TRACKS, moved, y);
  return drop && orderedTracks([0, 1, 2], { ...AS_RECORDED, moves: dropped([], drop) });
}

test("a track is put into the gap that is nearest", () => {
  assert.deepEqual(order(2, SECTION_PX + 3), [2, 0, 1]);
  assert.deepEqual(order(2, SECTION_PX + 20), [0, 2, 1]);
  assert.deepEqual(order(0, SECTION_PX + 40), [1, 0, 2]);
  assert.deepEqual(order(1, -500), [1, 0, 2]);
});

test("after the last one of the section there is a gap too", () => {
  assert.deepEqual(order(0, SECTION_PX + 64), [1, 2, 0]);
  assert.deepEqual(order(1, 5000), [0, 2, 1]);
  assert.equal(dropAt(LAYOUT, TRACKS, 0, 5000)?.y, SECTION_PX + 66);
});

test("a track's own place, and a section of one, change nothing", () => {
  assert.equal(order(1, SECTION_PX + 30), null);
  assert.equal(order(1, SECTION_PX + 47), null);
  assert.equal(order(2, 5000), null);
  assert.equal(dropAt(LAYOUT, TRACKS, 3, 0), null);
});

test("where a track lands counts from where it stands, not from where it was recorded", () => {
  const first = dropAt(LAYOUT, TRACKS, 0, 5000);
  assert.ok(first);
  const arranged = { ...AS_RECORDED, moves: dropped([], first) };
  const again = dropAt(arrange(META, arranged), TRACKS, 0, SECTION_PX + 3);
  assert.ok(again);
  const moves = dropped(arranged.moves, again);
  assert.deepEqual(orderedTracks([0, 1, 2], { ...AS_RECORDED, moves }), [0, 1, 2]);
});
