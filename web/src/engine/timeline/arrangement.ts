/** Which tracks are shown, in what order and how tall; kept in the address of the page. */

import type { Span, TimelineMeta, TimelineTrack } from "../../base/timeline.ts";

export interface Arrangement {
  /** Tracks that stay on top while the others scroll. */
  readonly pinned: readonly number[];
  readonly hidden: ReadonlySet<number>;
  /** Tracks shown as one lane. */
  readonly closed: ReadonlySet<number>;
  /** Tracks shown with all their lanes, however many. */
  readonly full: ReadonlySet<number>;
  readonly closedSections: ReadonlySet<number>;
  /** Tracks that were moved before another: `[moved, before]`, applied in order. */
  readonly moves: readonly (readonly [number, number])[];
  /** Height of a lane, px, where it was changed. */
  readonly heights: ReadonlyMap<number, number>;
  /** Only tracks or sections whose name has this text. */
  readonly filter: string;
  /** Only tracks that may have events in view. */
  readonly busyOnly: boolean;
}

export const AS_RECORDED: Arrangement = {
  pinned: [],
  hidden: new Set(),
  closed: new Set(),
  full: new Set(),
  closedSections: new Set(),
  moves: [],
  heights: new Map(),
  filter: "",
  busyOnly: false,
};

export const LANE_PX = 17;
export const COUNTER_PX = 36;
export const LEAST_LANE_PX = 3;
export const TALLEST_LANE_PX = 120;
export const SECTION_PX = 24;
/** Deeper tracks show this many lanes until all are asked for. */
export const LANES_AT_FIRST = 24;

/** A heading or a track, at its place in the scrolled area. */
export interface Band {
  readonly kind: "section" | "track";
  /** Of the section or the track. */
  readonly id: number;
  readonly top: number;
  readonly height: number;
  readonly lanes: number;
  readonly lanePx: number;
}

export interface Layout {
  readonly pinned: readonly Band[];
  readonly pinnedHeight: number;
  readonly bands: readonly Band[];
  readonly height: number;
}

export function toggled<T>(set: ReadonlySet<T>, item: T): ReadonlySet<T> {
  const next = new Set(set);
  if (!next.delete(item)) next.add(item);
  return next;
}

/** Lanes of the track that are drawn. */
export function shownLanes(track: TimelineTrack, arranged: Arrangement): number {
  if (arranged.closed.has(track.id)) return 1;
  if (arranged.full.has(track.id)) return track.lanes;
  return Math.min(track.lanes, LANES_AT_FIRST);
}

export function lanePx(track: TimelineTrack, arranged: Arrangement): number {
  return arranged.heights.get(track.id) ?? (track.kind === "counter" ? COUNTER_PX : LANE_PX);
}

const GAP_PX = 5;

function trackBand(track: TimelineTrack, top: number, arranged: Arrangement): Band {
  const lanes = shownLanes(track, arranged);
  const each = lanePx(track, arranged);
  const height = Math.max(lanes * each, LANE_PX) + GAP_PX;
  return { kind: "track", id: track.id, top, height, lanes, lanePx: each };
}

/** The section's tracks in the order they are shown, without those that are pinned or hidden. */
export function orderedTracks(tracks: readonly number[], arranged: Arrangement): number[] {
  const order = [...tracks];
  for (const [moved, before] of arranged.moves) {
    const at = order.indexOf(moved);
    const to = order.indexOf(before);
    if (at < 0 || to < 0) continue;
    order.splice(at, 1);
    order.splice(order.indexOf(before), 0, moved);
  }
  return order.filter((id) => !arranged.hidden.has(id) && !arranged.pinned.includes(id));
}

/** Whether a track's events, from the first to the last, reach into a span. */
function reaches(track: TimelineTrack | undefined, view: Span): boolean {
  return track !== undefined && track.begin_ps < view.end && track.end_ps > view.begin;
}

/** The same with sections folded of which nothing reaches into the view that is shown first. */
export function opened(arranged: Arrangement, meta: TimelineMeta, view: Span): Arrangement {
  const beside = meta.sections.filter(
    ({ tracks }) => tracks.length > 0 && !tracks.some((id) => reaches(meta.tracks[id], view)),
  );
  if (beside.length === 0 || arranged.closedSections.size > 0) return arranged;
  return { ...arranged, closedSections: new Set(beside.map(({ id }) => id)) };
}

/** Where everything is. `view` matters where only tracks with events in it are wanted. */
export function arrange(
  meta: TimelineMeta,
  arranged: Arrangement,
  view: Span | null = null,
): Layout {
  const pinned: Band[] = [];
  let pinnedHeight = 0;
  for (const id of arranged.pinned) {
    const track = meta.tracks[id];
    if (!track) continue;
    const band = trackBand(track, pinnedHeight, arranged);
    pinned.push(band);
    pinnedHeight += band.height;
  }
  const bands: Band[] = [];
  let top = 0;
  const wanted = arranged.filter.toLowerCase();
  for (const section of meta.sections) {
    const whole = section.name.toLowerCase().includes(wanted);
    const tracks = orderedTracks(section.tracks, arranged).filter(
      (id) =>
        (whole || meta.tracks[id]?.name.toLowerCase().includes(wanted)) &&
        (!arranged.busyOnly || view === null || reaches(meta.tracks[id], view)),
    );
    if (tracks.length === 0 && (wanted !== "" || section.tracks.length > 0)) continue;
    bands.push({ kind: "section", id: section.id, top, height: SECTION_PX, lanes: 0, lanePx: 0 });
    top += SECTION_PX;
    if (arranged.closedSections.has(section.id)) continue;
    for (const id of tracks) {
      const band = trackBand(meta.tracks[id] as TimelineTrack, top, arranged);
      bands.push(band);
      top += band.height;
    }
  }
  return { pinned, pinnedHeight, bands, height: top };
}

/** The bands that show between `from` and `to` px of the scrolled area. */
export function bandsBetween(bands: readonly Band[], from: number, to: number): readonly Band[] {
  let low = 0;
  let high = bands.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const band = bands[middle] as Band;
    if (band.top + band.height <= from) low = middle + 1;
    else high = middle;
  }
  let end = low;
  while (end < bands.length && (bands[end] as Band).top < to) end++;
  return bands.slice(low, end);
}
