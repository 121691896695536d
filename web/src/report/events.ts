/** The events of a report: columns of each track, laid out in lanes as the server lays them out. */

import type { TimelineMeta, TimelineTrack } from "../base/timeline.ts";

/** One track. Times are ps on the host's clock; `shift` is added for the axis. */
export interface TrackEvents {
  readonly track: TimelineTrack;
  readonly shift: number;
  /** Id of the track's event 0, and how many it has, those left out of the report included. */
  readonly firstEvent: number;
  readonly size: number;
  /** By position, lane after lane and by start: which event of the track, when, what. */
  readonly index: Uint32Array;
  readonly start: Float64Array;
  readonly end: Float64Array;
  readonly label: Uint32Array;
  /** lanes + 1 offsets over positions. */
  readonly laneBegin: Uint32Array;
}

export interface Series {
  readonly track: TimelineTrack;
  readonly shift: number;
  readonly time: Float64Array;
  readonly value: Float64Array;
}

export interface Arrows {
  readonly source: Float64Array;
  readonly target: Float64Array;
  readonly kind: Uint8Array;
}

/** What events are called and which category they have, by label. */
export interface LabelTable {
  readonly name: Uint32Array;
  readonly category: Uint8Array;
}

export interface Events {
  readonly meta: TimelineMeta;
  readonly labels: LabelTable;
  readonly tracks: readonly TrackEvents[];
  readonly byTrack: ReadonlyMap<number, TrackEvents>;
  readonly series: ReadonlyMap<number, Series>;
  readonly arrows: Arrows;
}

/** Reads LEB128 numbers below 2^53 one after the other. */
class Varints {
  private at = 0;
  constructor(private readonly bytes: Uint8Array) {}

  next(): number {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = this.bytes[this.at++];
      if (byte === undefined) throw new Error("The events of this report are cut off.");
      value += (byte & 127) * scale;
      if (byte < 128) return value;
      scale *= 128;
    }
  }

  signed(): number {
    const folded = this.next();
    return folded % 2 === 0 ? folded / 2 : -(folded + 1) / 2;
  }

  many(count: number): Float64Array {
    const values = new Float64Array(count);
    for (let i = 0; i < count; i++) values[i] = this.next();
    return values;
  }
}

/** Sums so far, in place of the values. */
function running(values: Float64Array): Float64Array {
  let sum = 0;
  for (let i = 0; i < values.length; i++) {
    sum += values[i] as number;
    values[i] = sum;
  }
  return values;
}

/** Reads the member `timeline/events`; docs/report.md lays its columns down. */
export function readEvents(bytes: Uint8Array, counters: Uint8Array, meta: TimelineMeta): Events {
  const read = new Varints(bytes);
  const labels = read.next();
  const name = Uint32Array.from(read.many(labels));
  const category = Uint8Array.from(read.many(labels));
  const tracks: TrackEvents[] = [];
  for (const track of meta.tracks) {
    if (track.kind !== "counter") tracks.push(readTrack(read, track, shiftOf(meta, track)));
  }
  const count = read.next();
  const source = running(read.many(count));
  const target = new Float64Array(count);
  for (let i = 0; i < count; i++) target[i] = (source[i] as number) + read.signed();
  const kind = Uint8Array.from(read.many(count));
  return {
    meta,
    labels: { name, category },
    tracks,
    byTrack: new Map(tracks.map((one) => [one.track.id, one])),
    series: readSeries(counters, meta),
    arrows: { source, target, kind },
  };
}

function shiftOf(meta: TimelineMeta, track: TimelineTrack): number {
  const section = meta.sections[track.section];
  return meta.hosts[section?.host ?? 0]?.shift_ps ?? 0;
}

function readTrack(read: Varints, track: TimelineTrack, shift: number): TrackEvents {
  const [firstEvent, size, count, unit] = [read.next(), read.next(), read.next(), read.next()];
  let now = read.signed();
  const index = running(read.many(count));
  const start = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    now += read.signed();
    start[i] = now * unit;
  }
  const end = read.many(count);
  for (let i = 0; i < count; i++) end[i] = (start[i] as number) + (end[i] as number) * unit;
  const label = read.many(count);
  const lane = read.many(count);
  const laneBegin = beginnings(lane, track.lanes);
  const order = laneAfterLane(lane, laneBegin, start, end);
  return {
    track,
    shift,
    firstEvent,
    size,
    index: gathered(index, order, new Uint32Array(count)),
    start: gathered(start, order, new Float64Array(count)),
    end: gathered(end, order, new Float64Array(count)),
    label: gathered(label, order, new Uint32Array(count)),
    laneBegin,
  };
}

/** Where each lane begins among events laid out lane after lane, and where the last one ends. */
function beginnings(lane: Float64Array, lanes: number): Uint32Array {
  const begin = new Uint32Array(lanes + 1);
  for (let i = 0; i < lane.length; i++) {
    const after = (lane[i] as number) + 1;
    begin[after] = (begin[after] as number) + 1;
  }
  for (let i = 0; i < lanes; i++) begin[i + 1] = (begin[i + 1] as number) + (begin[i] as number);
  return begin;
}

/**
 * The events lane after lane, by start and of equal ones the longest first.
 *
 * Recorders write most lanes in that order: only lanes that are not in it are sorted, since a
 * comparison of a million events takes longer than all the rest of reading them.
 */
function laneAfterLane(
  lane: Float64Array,
  begin: Uint32Array,
  start: Float64Array,
  end: Float64Array,
): Uint32Array {
  const order = new Uint32Array(lane.length);
  const next = begin.slice();
  for (let i = 0; i < lane.length; i++) {
    const own = lane[i] as number;
    const at = next[own] as number;
    order[at] = i;
    next[own] = at + 1;
  }
  const compared = (a: number, b: number) =>
    (start[a] as number) - (start[b] as number) || (end[b] as number) - (end[a] as number) || a - b;
  for (let own = 0; own + 1 < begin.length; own++) {
    const events = order.subarray(begin[own], begin[own + 1]);
    let at = 1;
    while (at < events.length && compared(events[at - 1] as number, events[at] as number) <= 0)
      at++;
    if (at < events.length) events.sort(compared);
  }
  return order;
}

function gathered<Column extends Float64Array | Uint32Array>(
  values: Float64Array,
  order: Uint32Array,
  column: Column,
): Column {
  for (let i = 0; i < order.length; i++) column[i] = values[order[i] as number] as number;
  return column;
}

function readSeries(bytes: Uint8Array, meta: TimelineMeta): Map<number, Series> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const found = new Map<number, Series>();
  let at = 0;
  for (const track of meta.tracks) {
    if (track.kind !== "counter") continue;
    const count = view.getUint32(at, true);
    at += 4;
    const take = () => {
      const values = new Float64Array(count);
      for (let i = 0; i < count; i++, at += 8) values[i] = view.getFloat64(at, true);
      return values;
    };
    found.set(track.id, { track, shift: shiftOf(meta, track), time: take(), value: take() });
  }
  return found;
}

/** First position of `[low, high)` whose value in an ascending column is at least `wanted`. */
export function firstAtLeast(
  column: Float64Array,
  wanted: number,
  low = 0,
  high = column.length,
): number {
  let from = low;
  let to = high;
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((column[middle] as number) < wanted) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** Positions `[low, high)` of a lane's events that run or start in a span of the host's clock. */
export function touching(
  events: TrackEvents,
  lane: number,
  begin: number,
  end: number,
): readonly [number, number] {
  const from = events.laneBegin[lane] as number;
  const to = events.laneBegin[lane + 1] as number;
  let low = firstAtLeast(events.start, begin, from, to);
  if (low > from && (events.end[low - 1] as number) > begin) low--;
  return [low, firstAtLeast(events.start, end, low, to)];
}

/** The track that shows an event id. */
export function trackOf(events: Events, id: number): TrackEvents | null {
  return (
    events.tracks.find(({ firstEvent, size }) => id >= firstEvent && id < firstEvent + size) ?? null
  );
}
