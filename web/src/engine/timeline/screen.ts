/** What is on the screen: each lane with its place, and the groups of tiles that hold them. */

import type { Span, TimelineTrack } from "../../base/timeline.ts";
import { type Band, bandsBetween, type Layout } from "./arrangement.ts";
import { type Group, levelFor, type TileAddress, tilesOver } from "./tile_grid.ts";

/** A lane on the screen; px from the top of the stage. */
export interface Row {
  readonly track: number;
  readonly lane: number;
  readonly y: number;
  readonly height: number;
  readonly counter: boolean;
  readonly pinned: boolean;
}

export interface Screen {
  readonly view: Span;
  readonly width: number;
  readonly height: number;
  readonly scroll: number;
  readonly pinnedHeight: number;
  readonly pinned: readonly Band[];
  readonly bands: readonly Band[];
  readonly rows: readonly Row[];
}

function rowsOf(
  band: Band,
  y: number,
  limits: readonly [number, number],
  pinned: boolean,
  tracks: readonly TimelineTrack[],
): Row[] {
  const counter = tracks[band.id]?.kind === "counter";
  const [top, bottom] = limits;
  const first = Math.max(0, Math.floor((top - y) / band.lanePx));
  const end = Math.min(band.lanes, Math.ceil((bottom - y) / band.lanePx));
  const rows: Row[] = [];
  for (let lane = first; lane < end; lane++) {
    const at = y + lane * band.lanePx;
    rows.push({ track: band.id, lane, y: at, height: band.lanePx, counter, pinned });
  }
  return rows;
}

/** The lanes between the edges of the stage, pinned ones first. */
export function screenOf(
  layout: Layout,
  tracks: readonly TimelineTrack[],
  view: Span,
  width: number,
  height: number,
  scroll: number,
): Screen {
  const below = Math.min(layout.pinnedHeight, height);
  const bands = bandsBetween(layout.bands, scroll, scroll + height - below);
  const rows = [
    ...layout.pinned.flatMap((band) => rowsOf(band, band.top, [0, below], true, tracks)),
    ...bands
      .filter((band) => band.kind === "track")
      .flatMap((band) => rowsOf(band, below + band.top - scroll, [below, height], false, tracks)),
  ];
  return { view, width, height, scroll, pinnedHeight: below, pinned: layout.pinned, bands, rows };
}

export function psPerPx(screen: Screen): number {
  return (screen.view.end - screen.view.begin) / screen.width;
}

export function xOf(screen: Screen, time: number): number {
  return ((time - screen.view.begin) / (screen.view.end - screen.view.begin)) * screen.width;
}

export function timeAt(screen: Screen, x: number): number {
  return screen.view.begin + (x / screen.width) * (screen.view.end - screen.view.begin);
}

/** The row under a point; counters and instants too. */
export function rowAt(screen: Screen, y: number): Row | null {
  const inside = (row: Row) => y >= row.y && y < row.y + row.height;
  const pinned = y < screen.pinnedHeight;
  return screen.rows.find((row) => row.pinned === pinned && inside(row)) ?? null;
}

/** Ids of tracks that a box of the screen touches, from `top` to `bottom`. */
export function tracksBetween(screen: Screen, top: number, bottom: number): number[] {
  const found = new Set<number>();
  for (const row of screen.rows) {
    if (row.y < bottom && row.y + row.height > top) found.add(row.track);
  }
  return [...found];
}

/** For each lane of each track, the group its tiles come in. */
export class GroupIndex {
  private readonly runs = new Map<number, { first: number; end: number; group: number }[]>();

  constructor(readonly groups: readonly Group[]) {
    for (const group of groups) {
      for (const { track, first, end } of group.runs) {
        const known = this.runs.get(track) ?? [];
        known.push({ first, end, group: group.id });
        this.runs.set(track, known);
      }
    }
  }

  groupOf(track: number, lane: number): number {
    const run = this.runs.get(track)?.find((each) => lane >= each.first && lane < each.end);
    return run?.group ?? -1;
  }

  /** The rows by group. */
  byGroup(rows: readonly Row[]): Map<number, number[]> {
    const found = new Map<number, number[]>();
    rows.forEach((row, place) => {
      const group = this.groupOf(row.track, row.lane);
      if (group < 0) return;
      const known = found.get(group);
      if (known) known.push(place);
      else found.set(group, [place]);
    });
    return found;
  }
}

/** Tiles the screen is made of, those in the middle first. */
export function wantedTiles(screen: Screen, groups: Iterable<number>): TileAddress[] {
  const level = levelFor(psPerPx(screen));
  const [first, last] = tilesOver(screen.view, level);
  const middle = (first + last) / 2;
  const wanted: TileAddress[] = [];
  for (const group of groups) {
    for (let index = first; index <= last; index++) wanted.push({ group, level, index });
  }
  return wanted.sort((a, b) => Math.abs(a.index - middle) - Math.abs(b.index - middle));
}
