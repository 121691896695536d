import assert from "node:assert/strict";
import { test } from "node:test";
import type { TimelineMeta, TimelineTrack } from "../../base/timeline.ts";
import { rangeText } from "../address.ts";
import { linkFrom, linkTexts, type TimelineLink } from "./address.ts";
import {
  AS_RECORDED,
  arrange,
  bandsBetween,
  opened,
  orderedTracks,
  SECTION_PX,
} from "./arrangement.ts";
import { selectedSection, selectedSpan } from "./links.ts";
import { allOf, opening } from "./opening.ts";
import { GroupIndex, psPerPx, rowAt, screenOf, timeAt, wantedTiles, xOf } from "./screen.ts";
import { groupLanes, groupText, levelFor, tilesOver } from "./tile_grid.ts";
import { axisTime, rulerTicks, tickTexts, tickTime, wallTime } from "./time_axis.ts";
import { panned, revealing, zoomed } from "./viewport.ts";

const WHOLE = { begin: 0, end: 1e12 };

function track(id: number, lanes: number, name = `track ${id}`): TimelineTrack {
  const rest = { derived: false, events: 1, begin_ps: 0, end_ps: 1, unit: "" };
  return {
    id,
    section: id < 2 ? 0 : 1,
    kind: "thread",
    name,
    lanes,
    least: null,
    most: null,
    ...rest,
  };
}

const TRACKS = [track(0, 1), track(1, 40), track(2, 3, "loader"), track(3, 1)];
const META: TimelineMeta = {
  version: 1,
  fingerprint: "f",
  begin_ps: 0,
  end_ps: 1e12,
  origin_ns: "0",
  aligned_by: "clock",
  events: 100,
  hosts: [{ name: "h", shift_ps: 0 }],
  categories: ["other"],
  flow_kinds: [],
  groupings: [],
  names: { count: 0, per_page: 1024 },
  sections: [
    { id: 0, host: 0, kind: "device", name: "GPU", label: "GPU", tracks: [0, 1] },
    { id: 1, host: 0, kind: "host", name: "CPU", label: "CPU", tracks: [2, 3] },
  ],
  tracks: TRACKS,
  steps: [],
};

test("zooming keeps the time under the pointer", () => {
  const view = { begin: 2e11, end: 4e11 };
  const next = zoomed(view, 0.5, 0.25, WHOLE);
  assert.equal(next.end - next.begin, 1e11);
  assert.ok(Math.abs(next.begin + 0.25 * 1e11 - 2.5e11) < 1);
});

test("zooming ends at 100 ps and a little more than the whole", () => {
  let view = { begin: 4e11, end: 5e11 };
  for (let i = 0; i < 100; i++) view = zoomed(view, 0.5, 0.5, WHOLE);
  assert.ok(Math.abs(view.end - view.begin - 100) < 0.01);
  for (let i = 0; i < 100; i++) view = zoomed(view, 2, 0.5, WHOLE);
  assert.ok(view.end - view.begin <= 1.1e12 * 1.0001);
});

test("panning cannot lose the trace", () => {
  const far = panned({ begin: 0, end: 1e11 }, 9e15, WHOLE);
  assert.ok(far.begin < WHOLE.end);
});

test("what is in view already does not move it", () => {
  const view = { begin: 0, end: 1e11 };
  assert.equal(revealing(view, { begin: 4e10, end: 5e10 }, WHOLE), view);
  const moved = revealing(view, { begin: 5e11, end: 5.1e11 }, WHOLE);
  assert.equal(moved.end - moved.begin, 1e11);
  assert.ok(moved.begin < 5e11 && moved.end > 5.1e11);
});

test("ticks are round and far enough from each other", () => {
  const found = rulerTicks({ begin: 0, end: 1e9 }, 1000, 90);
  assert.deepEqual(found.slice(0, 3), [0, 1e8, 2e8]);
});

test("times on the axis tell events apart, and ticks say no more than they must", () => {
  assert.equal(axisTime(1_789_310_712_345), "1.789310712 s");
  assert.equal(axisTime(123), "123 ps");
  assert.equal(tickTime(2e12, 5e11), "2.0 s");
  assert.equal(tickTime(1.7893106e12, 2e5), "1.7893106 s");
});

test("ticks far from zero tell once what they have in common", () => {
  assert.deepEqual(tickTexts([0, 1e8, 2e8]), ["0", "100 µs", "200 µs"]);
  const far = [35_272_629_050_000, 35_272_629_060_000, 35_272_629_070_000];
  assert.deepEqual(tickTexts(far), ["35.27262905 s", "+10 ns", "+20 ns"]);
  assert.deepEqual(tickTexts([]), []);
  // A narrow page may hold one tick: its distance to none was NaN, and the timeline blank.
  assert.deepEqual(tickTexts([2.57e12]), ["2.570 s"]);
  assert.deepEqual(tickTexts([0]), ["0"]);
});

test("levels are even and within a factor of two of a pixel", () => {
  for (const perPx of [0.1, 1, 3, 1000, 1e6, 1e9]) {
    const level = levelFor(perPx);
    assert.equal(level % 2, 0);
    if (perPx >= 1) assert.ok(2 ** level <= 2 * perPx && 2 ** level >= perPx / 2, `${perPx}`);
  }
});

test("lanes are asked for in groups of 32, deep tracks in parts", () => {
  const groups = groupLanes(TRACKS);
  assert.deepEqual(
    groups.map((group) => groupText(group, TRACKS)),
    ["0,1:0-31", "1:31-40,2,3"],
  );
  const index = new GroupIndex(groups);
  assert.equal(index.groupOf(1, 30), 0);
  assert.equal(index.groupOf(1, 31), 1);
  assert.equal(index.groupOf(9, 0), -1);
});

test("the tiles of a screen cover it without a gap", () => {
  const layout = arrange(META, AS_RECORDED);
  const view = { begin: 123_456_789, end: 987_654_321 };
  const screen = screenOf(layout, TRACKS, view, 1000, 300, 0);
  const [first, last] = tilesOver(view, levelFor(psPerPx(screen)));
  const found = wantedTiles(screen, [0]).map((each) => each.index);
  assert.deepEqual(
    found.sort((a, b) => a - b),
    Array.from({ length: last - first + 1 }, (_, i) => first + i),
  );
});

test("sections and tracks stand one below the other; deep ones are cut until asked for", () => {
  const layout = arrange(META, AS_RECORDED);
  assert.deepEqual(
    layout.bands.map((band) => [band.kind, band.id, band.lanes]),
    [
      ["section", 0, 0],
      ["track", 0, 1],
      ["track", 1, 24],
      ["section", 1, 0],
      ["track", 2, 3],
      ["track", 3, 1],
    ],
  );
  const [, second, third] = layout.bands;
  assert.equal(second?.top, SECTION_PX);
  assert.equal(third?.top, SECTION_PX + (second?.height ?? 0));
  const full = arrange(META, { ...AS_RECORDED, full: new Set([1]) });
  assert.equal(full.bands[2]?.lanes, 40);
});

test("hidden, pinned, closed and filtered tracks", () => {
  const hidden = arrange(META, { ...AS_RECORDED, hidden: new Set([0, 1]) });
  assert.deepEqual(
    hidden.bands.map((band) => band.id),
    [1, 2, 3],
  );
  const pinned = arrange(META, { ...AS_RECORDED, pinned: [2] });
  assert.deepEqual(
    pinned.pinned.map((band) => band.id),
    [2],
  );
  assert.ok(!pinned.bands.some((band) => band.kind === "track" && band.id === 2));
  const filtered = arrange(META, { ...AS_RECORDED, filter: "LOAD" });
  assert.deepEqual(
    filtered.bands.map((band) => [band.kind, band.id]),
    [
      ["section", 1],
      ["track", 2],
    ],
  );
  const closed = arrange(META, { ...AS_RECORDED, closedSections: new Set([0]) });
  assert.equal(closed.bands.filter((band) => band.kind === "track").length, 2);
});

test("on wish only tracks whose events reach into the view are shown", () => {
  const tracks = META.tracks.map((each, place) => ({
    ...each,
    begin_ps: place * 10,
    end_ps: place * 10 + 5,
  }));
  const meta = { ...META, tracks };
  const shown = (view: { begin: number; end: number } | null, busyOnly: boolean) =>
    arrange(meta, { ...AS_RECORDED, busyOnly }, view)
      .bands.filter((band) => band.kind === "track")
      .map((band) => band.id);
  assert.deepEqual(shown({ begin: 6, end: 12 }, true), [1]);
  assert.equal(shown({ begin: 6, end: 12 }, false).length, tracks.length);
  assert.deepEqual(shown({ begin: 16, end: 18 }, true), []);
});

test("sections of which nothing is in the first view begin folded", () => {
  const tracks = META.tracks.map((each, place) => ({
    ...each,
    begin_ps: place * 10,
    end_ps: place * 10 + 5,
  }));
  const meta = { ...META, tracks };
  const folded = (view: { begin: number; end: number }) => [
    ...opened(AS_RECORDED, meta, view).closedSections,
  ];
  assert.deepEqual(folded({ begin: 22, end: 40 }), [0]);
  assert.deepEqual(folded({ begin: 12, end: 22 }), []);
  const chosen = { ...AS_RECORDED, closedSections: new Set([1]) };
  assert.equal(opened(chosen, meta, { begin: 22, end: 40 }), chosen);
});

test("tracks are moved one before another", () => {
  const moved = { ...AS_RECORDED, moves: [[3, 2]] as const };
  assert.deepEqual(orderedTracks([2, 3], moved), [3, 2]);
});

test("points and times are each other's inverse, and rows are found under them", () => {
  const layout = arrange(META, { ...AS_RECORDED, pinned: [3] });
  const screen = screenOf(layout, TRACKS, { begin: 100, end: 1100 }, 500, 400, 30);
  assert.equal(timeAt(screen, xOf(screen, 600)), 600);
  assert.equal(rowAt(screen, 3)?.track, 3);
  assert.equal(rowAt(screen, screen.pinnedHeight + 1)?.pinned, false);
  assert.equal(rowAt(screen, 5000), null);
});

test("the bands on the screen are found by halving", () => {
  const { bands } = arrange(META, AS_RECORDED);
  const last = bands[bands.length - 1];
  const seen = bandsBetween(bands, (last?.top ?? 0) + 1, 9999);
  assert.deepEqual(seen, [last]);
});

test("a view survives its address", () => {
  const link: TimelineLink = {
    view: { begin: 5, end: 500 },
    scroll: 12,
    event: 42,
    range: { begin: 10, end: 20 },
    rangeTracks: [1, 2],
    flame: { by: "track,stack", inverted: true, base: { begin: 1, end: 5 }, baseRun: "other" },
    path: true,
    second: { run: "other", step: 12 },
    marks: [7, 9],
    notes: new Map([[9, "here, it: waits 100%"]]),
    bookmarks: [{ name: "the hole, ~5", span: { begin: -3, end: 8 } }],
    logCounters: true,
    sought: { text: "a&b=c", regex: true, stat: "hlo" },
    colours: "step",
    hand: "timing",
    arrows: true,
    at: null,
    arranged: {
      pinned: [3],
      hidden: new Set([0]),
      closed: new Set([1]),
      full: new Set([1]),
      closedSections: new Set([1]),
      moves: [[3, 2]],
      heights: new Map([[2, 30]]),
      busyOnly: true,
      filter: "x",
    },
  };
  assert.deepEqual(linkFrom(linkTexts(link), META), link);
});

test("an address that means nothing shows the whole trace", () => {
  const texts = { view: "5~1", event: "1000", range: "x", pin: "99,-1,a", hand: "fist" };
  const link = linkFrom(texts, META);
  assert.deepEqual(linkTexts(link), {});
  assert.equal(link.event, null);
});

const RECORDED = { begin: 0, end: 10_000 };

/** One step, and tracks as events with begin and end. */
function stepped(
  step: readonly [number, number] | null,
  ...tracks: readonly (readonly [number, number, number, string?])[]
): TimelineMeta {
  const steps = step ? [{ begin_ps: [step[0]], end_ps: [step[1]] }] : [];
  const shown = tracks.map(([events, begin_ps, end_ps, kind = "thread"]) => ({
    events,
    begin_ps,
    end_ps,
    kind,
  }));
  return { steps, tracks: shown } as unknown as TimelineMeta;
}

test("a counter that goes on after the last step does not take room from the steps", () => {
  const { begin, end } = opening(
    stepped([0, 7000], [9, 0, 7000], [5, 0, 10_000, "counter"], [1, 9000, 9000, "other"]),
    RECORDED,
  );
  assert.deepEqual([begin, end], [-140, 7140]);
});

test("what ran beside the steps is shown with them", () => {
  assert.deepEqual(
    opening(stepped([0, 7000], [9, 0, 7000], [2, 0, 9000]), RECORDED),
    allOf(RECORDED),
  );
});

test("only steps are shown if they are a small part; without steps everything is", () => {
  const { begin, end } = opening(stepped([4000, 5000], [9, 0, 10_000]), RECORDED);
  assert.deepEqual([begin, end], [3850, 5150]);
  assert.deepEqual(opening(stepped(null, [9, 0, 10_000]), RECORDED), allOf(RECORDED));
});

test("a time of the axis has one on the wall's clock where the recording knows it", () => {
  // 2023-11-14 22:13:20 UTC, and 1.000002 s after it.
  assert.equal(
    wallTime("1700000000000000000", 1_000_002_000_000),
    "2023-11-14 22:13:21.000002 UTC",
  );
  assert.equal(wallTime("86400000000000", 1e12), "");
});

const SELECTABLE = {
  begin_ps: 0,
  end_ps: 5e12,
  steps: [
    { num: [9, 10, 11], begin_ps: [1e9, 2e9, 3e9], end_ps: [2e9, 3e9, 4e9] },
    { num: [9, 10, 11], begin_ps: [1.5e9, 2.5e9, 3.5e9], end_ps: [2.5e9, 3.5e9, 4.5e9] },
  ],
} as unknown as TimelineMeta;

test("steps reach from the first begin to the last end on any host", () => {
  assert.deepEqual(selectedSpan({ steps: "9-10" }, SELECTABLE), { begin: 1e9, end: 3.5e9 });
  assert.deepEqual(selectedSpan({ steps: "11" }, SELECTABLE), { begin: 3e9, end: 4.5e9 });
  assert.equal(selectedSpan({ steps: "40" }, SELECTABLE), null);
  assert.equal(selectedSpan({ device: "3" }, SELECTABLE), null);
});

test("the section of a selected device or rank is found as the server finds it", () => {
  const section = (id: number, host: number, label: string) => ({
    id,
    host,
    label,
    kind: "device",
  });
  const local = {
    hosts: [{ name: "a" }, { name: "b" }],
    sections: [section(0, 0, "GPU:0"), section(1, 0, "GPU:4"), section(2, 1, "GPU:4")],
  } as unknown as TimelineMeta;
  const ranked = {
    hosts: [{ name: "rank3" }, { name: "rank12" }],
    sections: [section(0, 0, "GPU:0"), section(1, 1, "GPU:0")],
  } as unknown as TimelineMeta;
  const found = (device: string, meta = local) => selectedSection({ device }, meta);
  assert.deepEqual(
    ["4", "GPU:4", "gpu 4", "2-6", "9,4"].map((text) => found(text)),
    [...[1, 1, 1, 1, 1]],
  );
  assert.deepEqual(
    ["b", "b/GPU:4", "/device:GPU:0"].map((text) => found(text)),
    [2, 2, 0],
  );
  assert.deepEqual(
    ["12", "rank 12", "rank12", "4-20"].map((text) => found(text, ranked)),
    [...[1, 1, 1, 1]],
  );
  assert.deepEqual([found(""), found("TPU:4"), found("rank 3")], [null, null, null]);
});

test("ranges are read as the server reads them", () => {
  const range = (text: string) => selectedSpan({ range: text }, SELECTABLE);
  assert.deepEqual(range("1.2s-1.4s"), { begin: 1.2e12, end: 1.4e12 });
  assert.deepEqual(range("1.2-1.4s"), { begin: 1.2e12, end: 1.4e12 });
  assert.deepEqual(range("1200-1400"), { begin: 1.2e12, end: 1.4e12 });
  assert.deepEqual(range("4.9s-"), { begin: 4.9e12, end: 5e12 });
  assert.equal(range("soon"), null);
});

test("a range survives as text", () => {
  const span = { begin: 1_234_567_890_123, end: 1_234_567_890_124 };
  assert.deepEqual(selectedSpan({ range: rangeText(span.begin, span.end) }, SELECTABLE), span);
});
