/** Tiles from the events of a report, as the server cuts them (docs/timeline-format.md). */

import { type Events, firstAtLeast, type Series, type TrackEvents, touching } from "./events.ts";

const X_UNITS = 65_535;
const STARTS_BEFORE = 64;
const ENDS_AFTER = 128;
const HEADER_BYTES = 64;
const LARGEST_BUCKET = 2 ** 61;

interface Wanted {
  readonly track: number;
  readonly first: number;
  readonly end: number;
}

export interface TileQuestion {
  readonly tracks: string;
  readonly begin: number;
  readonly end: number;
  readonly width: number;
  readonly most: number;
}

interface Cell {
  readonly events: TrackEvents;
  readonly lane: number;
  readonly begin: number;
  readonly end: number;
  readonly busy: number;
  readonly count: number;
  /** Position of the longest. */
  readonly longest: number;
}

const powerOfTwo = (least: number) => 2 ** Math.max(0, Math.ceil(Math.log2(Math.max(least, 1))));

/** "3,5,12:0-40": tracks, or lanes of one. */
export function wantedOf(text: string): Wanted[] {
  return text
    .split(",")
    .filter(Boolean)
    .map((part) => {
      const [track = "", lanes] = part.split(":");
      const [first = 0, end = Number.POSITIVE_INFINITY] = lanes?.split("-").map(Number) ?? [];
      return { track: Number(track), first, end };
    });
}

export function tileBytes(events: Events, question: TileQuestion): ArrayBuffer {
  const { begin, end } = question;
  const wanted = wantedOf(question.tracks);
  let bucket = powerOfTwo(Math.ceil((end - begin) / question.width));
  let most = Math.min(question.most, X_UNITS);
  let cells = cut(events, wanted, begin, end, bucket, most);
  while (!cells) {
    if (bucket < LARGEST_BUCKET) bucket *= 2;
    else if (most < X_UNITS) most = Math.min(2 * most, X_UNITS);
    else throw new Error("There are more lanes than a tile can hold.");
    cells = cut(events, wanted, begin, end, bucket, most);
  }
  const series = wanted.flatMap(({ track }) => events.series.get(track) ?? []);
  return packed(events, cells, series, begin, end, bucket);
}

function cut(
  events: Events,
  wanted: readonly Wanted[],
  begin: number,
  end: number,
  bucket: number,
  most: number,
): Cell[] | null {
  const cells: Cell[] = [];
  for (const { track, first, end: last } of wanted) {
    const one = events.byTrack.get(track);
    if (!one) continue;
    for (let lane = first; lane < Math.min(last, one.track.lanes); lane++) {
      if (!cutLane(one, lane, begin - one.shift, end - one.shift, bucket, most, cells)) return null;
    }
  }
  return cells;
}

/** An event of a bucket's length is a cell; shorter ones that start in one bucket are one. */
function cutLane(
  events: TrackEvents,
  lane: number,
  begin: number,
  end: number,
  bucket: number,
  most: number,
  cells: Cell[],
): boolean {
  const [low, high] = touching(events, lane, begin, end);
  const { start, end: stop } = events;
  const length = (at: number) => (stop[at] as number) - (start[at] as number);
  for (let at = low; at < high; ) {
    if (cells.length === most) return false;
    const from = start[at] as number;
    const edge = Math.floor(from / bucket) * bucket + bucket;
    const until = end - (edge - bucket) <= bucket ? end : edge;
    let busy = length(at);
    let longest = at;
    let next = at + 1;
    if (busy < bucket) {
      while (next < high && (start[next] as number) < until && length(next) < bucket) {
        busy += length(next);
        if (length(next) > length(longest)) longest = next;
        next++;
      }
    }
    const last = stop[next - 1] as number;
    cells.push({ events, lane, begin: from, end: last, busy, count: next - at, longest });
    at = next;
  }
  return true;
}

function packed(
  events: Events,
  cells: readonly Cell[],
  series: readonly Series[],
  begin: number,
  end: number,
  bucket: number,
): ArrayBuffer {
  const unit = powerOfTwo(Math.ceil((end - begin) / X_UNITS));
  const rows: number[] = [];
  cells.forEach((cell, at) => {
    const before = cells[at - 1];
    if (before?.events !== cell.events || before.lane !== cell.lane) rows.push(at);
  });
  const nameOf = (cell: Cell) =>
    events.labels.name[cell.events.label[cell.longest] as number] as number;
  const ids = [...new Set(cells.map(nameOf))].sort((a, b) => a - b);
  const place = new Map(ids.map((id, at) => [id, at]));
  const points = series.map((one) => counterPoints(one, begin, end, bucket));
  const flat = points.flat();
  const length = end - begin;
  const clip = (time: number) => Math.min(Math.max(time, 0), length);
  const from = (cell: Cell) => cell.begin + cell.events.shift - begin;
  const to = (cell: Cell) => cell.end + cell.events.shift - begin;
  const kind = (cell: Cell) =>
    (events.labels.category[cell.events.label[cell.longest] as number] as number) +
    (from(cell) < 0 ? STARTS_BEFORE : 0) +
    (to(cell) > length ? ENDS_AFTER : 0);
  const fill = ({ count, busy, begin: a, end: b }: Cell) =>
    count === 1 ? 255 : Math.min(255, Math.ceil((255 * busy) / Math.max(b - a, 1)));
  const columns: ArrayBufferView[] = [
    Float64Array.from(flat, (point) => point.least),
    Float64Array.from(flat, (point) => point.most),
    Float64Array.from(flat, (point) => point.last),
    Uint32Array.from(rows, (row) => cells[row]?.events.track.id ?? 0),
    Uint32Array.from(rows, (row) => cells[row]?.lane ?? 0),
    Uint32Array.from([...rows, cells.length]),
    Uint32Array.from(ids),
    Uint32Array.from(series, (one) => one.track.id),
    Uint32Array.from(offsets(points.map((part) => part.length))),
    Uint32Array.from(cells, (c) => c.events.firstEvent + (c.events.index[c.longest] as number)),
    Uint32Array.from(cells, ({ count }) => count),
    Uint16Array.from(cells, (cell) => place.get(nameOf(cell)) as number),
    Uint16Array.from(cells, (cell) => Math.floor(clip(from(cell)) / unit)),
    Uint16Array.from(cells, (cell) => Math.ceil(clip(to(cell)) / unit)),
    Uint16Array.from(flat, (point) => Math.floor(point.at / unit)),
    Uint8Array.from(cells, fill),
    Uint8Array.from(cells, kind),
  ];
  const bytes = new Uint8Array(
    HEADER_BYTES + columns.reduce((sum, column) => sum + column.byteLength, 0),
  );
  const head = new DataView(bytes.buffer);
  head.setUint32(0, 0x4c545353, true);
  head.setUint16(4, 1, true);
  head.setUint16(6, HEADER_BYTES, true);
  [begin, end, bucket, unit].forEach((value, i) => {
    head.setBigInt64(8 + 8 * i, BigInt(value), true);
  });
  [rows.length, cells.length, ids.length, series.length, flat.length].forEach((value, i) => {
    head.setUint32(40 + 4 * i, value, true);
  });
  let at = HEADER_BYTES;
  for (const column of columns) {
    bytes.set(new Uint8Array(column.buffer, column.byteOffset, column.byteLength), at);
    at += column.byteLength;
  }
  return bytes.buffer;
}

const offsets = (sizes: readonly number[]) => {
  let sum = 0;
  return [
    0,
    ...sizes.map((size) => {
      sum += size;
      return sum;
    }),
  ];
};

interface Point {
  readonly at: number;
  readonly least: number;
  readonly most: number;
  readonly last: number;
}

/** Least, most and last value in each bucket with a change, and the value at the left edge. */
function counterPoints({ time, value, shift }: Series, from: number, to: number, bucket: number) {
  const begin = from - shift;
  const points: Point[] = [];
  let before = Number.NaN;
  const high = firstAtLeast(time, to - shift);
  for (let i = Math.max(firstAtLeast(time, begin) - 1, 0); i < high; i++) {
    const now = value[i] as number;
    const place = Math.floor(Math.max((time[i] as number) - begin, -1) / bucket);
    const last = points.at(-1);
    if (last && place === before) {
      points[points.length - 1] = {
        at: last.at,
        least: Math.min(last.least, now),
        most: Math.max(last.most, now),
        last: now,
      };
    } else points.push({ at: Math.max(place * bucket, 0), least: now, most: now, last: now });
    before = place;
  }
  return points;
}
