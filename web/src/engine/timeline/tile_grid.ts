/** The grid that tiles lie on: levels of detail, and groups of lanes that are asked for together. */

import type { Span, TimelineTrack } from "../../base/timeline.ts";

export const TILE_PX = 512;
const LANES_PER_GROUP = 32;

/** Lanes `first` ≤ lane < `end` of one track. */
export interface LaneRun {
  readonly track: number;
  readonly first: number;
  readonly end: number;
}

export interface Group {
  readonly id: number;
  readonly runs: readonly LaneRun[];
}

export interface TileAddress {
  readonly group: number;
  /** A bucket has 2^level ps; levels are even. */
  readonly level: number;
  /** The tile begins at `index * 512` buckets. */
  readonly index: number;
}

export function tileKey(address: TileAddress): string {
  return `${address.group} ${address.level} ${address.index}`;
}

export function tileSpan(address: TileAddress): Span {
  const length = TILE_PX * 2 ** address.level;
  return { begin: address.index * length, end: (address.index + 1) * length };
}

/** All lanes in order, at most 32 to a group; a counter is a lane. */
export function groupLanes(tracks: readonly TimelineTrack[]): Group[] {
  const groups: Group[] = [];
  let runs: LaneRun[] = [];
  let room = LANES_PER_GROUP;
  const close = () => {
    if (runs.length > 0) groups.push({ id: groups.length, runs });
    runs = [];
    room = LANES_PER_GROUP;
  };
  for (const track of tracks) {
    for (let first = 0; first < track.lanes; ) {
      const end = Math.min(track.lanes, first + room);
      runs.push({ track: track.id, first, end });
      room -= end - first;
      first = end;
      if (room === 0) close();
    }
  }
  close();
  return groups;
}

/** The group's lanes as the server reads them: "3,5,12:0-40". */
export function groupText(group: Group, tracks: readonly TimelineTrack[]): string {
  return group.runs
    .map(({ track, first, end }) =>
      first === 0 && end >= (tracks[track]?.lanes ?? 0) ? `${track}` : `${track}:${first}-${end}`,
    )
    .join(",");
}

/** The even level whose buckets are nearest to a pixel: between half of one and two. */
export function levelFor(psPerPx: number): number {
  return Math.max(0, 2 * Math.round(Math.log2(psPerPx) / 2));
}

/** Indexes of the tiles of a level that the span touches: from, to (inclusive). */
export function tilesOver(span: Span, level: number): readonly [number, number] {
  const length = TILE_PX * 2 ** level;
  return [Math.floor(span.begin / length), Math.ceil(span.end / length) - 1];
}

/** The tile one level up that holds this one. */
export function parentOf(address: TileAddress): TileAddress {
  return { ...address, level: address.level + 2, index: Math.floor(address.index / 4) };
}
