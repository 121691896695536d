/** One event of a report: where it is, what it contains, what led to it, the others of its name. */

import type { EventDetails, FlowArrow, Flows, Occurrences, Place } from "../base/timeline.ts";
import { type Events, firstAtLeast, type TrackEvents, touching, trackOf } from "./events.ts";

const BINS = 40;
const MAX_LISTED = 1000;
const QUANTILES = [0, 0.25, 0.5, 0.75, 0.95, 0.99, 1];

/** Names by id, as the pages of the server have them. */
export type Names = readonly string[];

/** An event at a position of its track. */
interface At {
  readonly events: TrackEvents;
  readonly position: number;
}

const lengthAt = ({ start, end }: TrackEvents, at: number) =>
  (end[at] as number) - (start[at] as number);

export function idAt(events: TrackEvents, position: number): number {
  return events.firstEvent + (events.index[position] as number);
}

function laneAt(events: TrackEvents, position: number): number {
  let lane = 0;
  while ((events.laneBegin[lane + 1] as number) <= position) lane++;
  return lane;
}

export function placeAt(all: Events, names: Names, events: TrackEvents, position: number): Place {
  const label = events.label[position] as number;
  const name = all.labels.name[label] as number;
  return {
    event: idAt(events, position),
    track: events.track.id,
    lane: laneAt(events, position),
    begin_ps: (events.start[position] as number) + events.shift,
    end_ps: (events.end[position] as number) + events.shift,
    name: names[name] ?? "",
    name_id: name,
    category: all.labels.category[label] as number,
  };
}

/** Where an event is; null when the report does not hold it. */
export function find(all: Events, id: number): At | null {
  const events = trackOf(all, id);
  if (!events) return null;
  const position = events.index.indexOf(id - events.firstEvent);
  return position < 0 ? null : { events, position };
}

export function eventDetails(all: Events, names: Names, id: number): EventDetails | null {
  const at = find(all, id);
  if (!at) return null;
  const { events, position } = at;
  const place = placeAt(all, names, events, position);
  const children = childrenOf(at, place.lane);
  const covered = children.reduce((sum, child) => sum + lengthAt(events, child), 0);
  const parent = parentOf(at, place.lane);
  const link = (row: number, other: number) => {
    const end = find(all, other);
    const kind = all.meta.flow_kinds[all.arrows.kind[row] as number] ?? "";
    return end ? [{ kind, ...placeAt(all, names, end.events, end.position) }] : [];
  };
  const { source, target } = all.arrows;
  return {
    ...place,
    full_name: place.name,
    self_ps: lengthAt(events, position) - covered,
    stats: [{ name: "arguments", value: "left out of reports; the recording has them" }],
    parent: parent === null ? null : placeAt(all, names, events, parent),
    children: {
      count: children.length,
      first: children.slice(0, MAX_LISTED).map((child) => placeAt(all, names, events, child)),
    },
    into: arrowsInto(all, id).flatMap((row) => link(row, source[row] as number)),
    out_of: arrowsOutOf(all, id).flatMap((row) => link(row, target[row] as number)),
    occurrences: occurrencesOf(all, at, place),
  };
}

/** Events of the lane below that this one contains. */
function childrenOf({ events, position }: At, lane: number): number[] {
  const begin = events.start[position] as number;
  const end = events.end[position] as number;
  if (lane + 1 >= events.track.lanes || begin === end) return [];
  const [low, high] = touching(events, lane + 1, begin, end);
  const inside: number[] = [];
  for (let at = low; at < high; at++) {
    if ((events.start[at] as number) >= begin && (events.end[at] as number) <= end) inside.push(at);
  }
  return inside;
}

/** The innermost event of the lanes above that contains this one. */
function parentOf({ events, position }: At, lane: number): number | null {
  const begin = events.start[position] as number;
  const end = events.end[position] as number;
  for (let above = lane - 1; above >= 0; above--) {
    const [low, high] = touching(events, above, begin, begin + 1);
    if (
      high > low &&
      (events.start[low] as number) <= begin &&
      (events.end[low] as number) >= end
    ) {
      return low;
    }
  }
  return null;
}

function occurrencesOf(all: Events, own: At, place: Place): Occurrences {
  const lengths: number[] = [];
  const beside: At[] = [];
  let longest = place.event;
  let most = -1;
  for (const events of all.tracks) {
    // In the order of the file, so that of equals the first is the longest here and on the server.
    const found: number[] = [];
    for (let at = 0; at < events.index.length; at++) {
      if (all.labels.name[events.label[at] as number] === place.name_id) found.push(at);
    }
    found.sort((a, b) => (events.index[a] as number) - (events.index[b] as number));
    for (const at of found) {
      const length = lengthAt(events, at);
      lengths.push(length);
      if (length > most) {
        most = length;
        longest = idAt(events, at);
      }
      if (events === own.events) beside.push({ events, position: at });
    }
  }
  beside.sort((a, b) => startOf(a) - startOf(b));
  const at = beside.findIndex(({ position }) => position === own.position);
  const sorted = Float64Array.from(lengths).sort();
  const { edges, counts } = distribution(sorted);
  const idOf = (one: At | undefined) => (one ? idAt(one.events, one.position) : -1);
  return {
    count: sorted.length,
    total_ps: sorted.reduce((sum, length) => sum + length, 0),
    quantiles_ps: QUANTILES.map((share) => Math.floor(quantile(sorted, share))),
    longer: sorted.length - firstAtLeast(sorted, place.end_ps - place.begin_ps + 1),
    bin_edge_ps: edges,
    bin_count: counts,
    previous: idOf(beside[at - 1]),
    next: idOf(beside[at + 1]),
    longest,
  };
}

const startOf = ({ events, position }: At) => events.start[position] as number;

/** Between the values around the share of an ascending column, in proportion. */
export function quantile(sorted: Float64Array, share: number): number {
  const at = (sorted.length - 1) * share;
  const low = sorted[Math.floor(at)] as number;
  const high = sorted[Math.ceil(at)] as number;
  return low + (high - low) * (at - Math.floor(at));
}

/** Geometric bins from the least to the most; instants count into the first. */
function distribution(sorted: Float64Array): { edges: number[]; counts: number[] } {
  const least = Math.max(sorted[0] as number, 1);
  const most = Math.max(sorted[sorted.length - 1] as number, 1);
  if (least === most) return { edges: [least, most], counts: [sorted.length] };
  const edges = Array.from({ length: BINS + 1 }, (_, i) => least * (most / least) ** (i / BINS));
  edges[0] = least;
  edges[BINS] = most;
  const bounds = edges.map((edge, i) => (i === 0 ? 0 : i === BINS ? most + 1 : edge));
  const places = bounds.map((bound) => firstAtLeast(sorted, bound));
  const counts = places.slice(1).map((place, i) => place - (places[i] as number));
  return { edges, counts };
}

function arrowsOutOf({ arrows }: Events, id: number): number[] {
  const low = firstAtLeast(arrows.source, id);
  const high = firstAtLeast(arrows.source, id + 1);
  return Array.from({ length: high - low }, (_, i) => low + i);
}

function arrowsInto({ arrows }: Events, id: number): number[] {
  const rows: number[] = [];
  arrows.target.forEach((target, row) => {
    if (target === id) rows.push(row);
  });
  return rows;
}

/** Arrows within `depth` steps before or behind an event. */
export function arrowsAround(all: Events, id: number, depth: number): number[] {
  const found = new Set<number>();
  for (const ahead of [true, false]) {
    let front = new Set([id]);
    for (let step = 0; step < depth; step++) {
      const rows = [...front].flatMap((at) => (ahead ? arrowsOutOf : arrowsInto)(all, at));
      const fresh = rows.filter((row) => !found.has(row));
      for (const row of fresh) found.add(row);
      const ends = ahead ? all.arrows.target : all.arrows.source;
      front = new Set(fresh.map((row) => ends[row] as number));
    }
  }
  return [...found];
}

/** Arrows whose source starts in a span, on some tracks. */
export function arrowsIn(
  all: Events,
  begin: number,
  end: number,
  tracks: ReadonlySet<number>,
): number[] {
  const rows: number[] = [];
  for (const events of all.tracks) {
    if (!tracks.has(events.track.id)) continue;
    const low = firstAtLeast(all.arrows.source, events.firstEvent);
    const high = firstAtLeast(all.arrows.source, events.firstEvent + events.size);
    if (high === low) continue;
    const starts = new Map<number, number>();
    for (let at = 0; at < events.index.length; at++) {
      starts.set(idAt(events, at), (events.start[at] as number) + events.shift);
    }
    for (let row = low; row < high; row++) {
      const start = starts.get(all.arrows.source[row] as number);
      if (start !== undefined && start >= begin && start < end) rows.push(row);
    }
  }
  return rows;
}

/** Arrows as the pages draw them; none are listed when they are too many for a screen. */
export function flowsOf(
  all: Events,
  names: Names,
  rows: readonly number[],
  listAll: boolean,
): Flows {
  const listed = listAll || rows.length <= MAX_LISTED ? rows.slice(0, MAX_LISTED) : [];
  const arrows: FlowArrow[] = [];
  for (const row of listed) {
    const from = find(all, all.arrows.source[row] as number);
    const to = find(all, all.arrows.target[row] as number);
    if (!from || !to) continue;
    arrows.push({
      kind: all.arrows.kind[row] as number,
      from: placeAt(all, names, from.events, from.position),
      to: placeAt(all, names, to.events, to.position),
    });
  }
  return { count: rows.length, arrows };
}
