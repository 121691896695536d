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

const running = (values: Float64Array) => {
  let sum = 0;
  return values.map((value) => {
    sum += value;
    return sum;
  });
};

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
  const lanes = track.lanes;
  const first = read.signed();
  const index = running(read.many(count));
  const start = new Float64Array(count);
  let now = first;
  for (let i = 0; i < count; i++) {
    now += read.signed();
    start[i] = now * unit;
  }
  const duration = read.many(count);
  const label = read.many(count);
  const lane = read.many(count);
  const order = new Uint32Array(count).map((_, i) => i);
  const by = (column: Float64Array, a: number, b: number) =>
    (column[a] as number) - (column[b] as number);
  order.sort((a, b) => by(lane, a, b) || by(start, a, b) || by(duration, b, a) || a - b);
  const laneBegin = new Uint32Array(lanes + 1);
  for (const each of lane) laneBegin[each + 1] = (laneBegin[each + 1] as number) + 1;
  for (let i = 0; i < lanes; i++) {
    laneBegin[i + 1] = (laneBegin[i + 1] as number) + (laneBegin[i] as number);
  }
  const at = (column: Float64Array) => Float64Array.from(order, (i) => column[i] as number);
  const starts = at(start);
  const ends = at(duration).map((length, i) => (starts[i] as number) + length * unit);
  return {
    track,
    shift,
    firstEvent,
    size,
    index: Uint32Array.from(at(index)),
    start: starts,
    end: ends,
    label: Uint32Array.from(at(label)),
    laneBegin,
  };
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
