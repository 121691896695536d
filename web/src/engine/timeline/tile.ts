/** A tile as its typed arrays; views on the bytes of the answer, nothing is copied. */

const HEADER_BYTES = 64;
const MAGIC = 0x4c545353; // "SSTL", little-endian

export interface Tile {
  readonly begin: number;
  readonly end: number;
  readonly bucket: number;
  /** ps per unit of x. */
  readonly unit: number;
  readonly rowTrack: Uint32Array;
  readonly rowLane: Uint32Array;
  readonly rowBegin: Uint32Array;
  readonly names: Uint32Array;
  readonly event: Uint32Array;
  readonly count: Uint32Array;
  readonly name: Uint16Array;
  readonly x0: Uint16Array;
  readonly x1: Uint16Array;
  /** Busy share × 255. */
  readonly fill: Uint8Array;
  readonly kind: Uint8Array;
  readonly counters: Counters;
  /** Row by `track * 2^20 + lane`. */
  readonly rowOf: ReadonlyMap<number, number>;
  readonly bytes: number;
}

export interface Counters {
  readonly track: Uint32Array;
  readonly begin: Uint32Array;
  readonly x: Uint16Array;
  readonly least: Float64Array;
  readonly most: Float64Array;
  readonly last: Float64Array;
}

export const BEGINS_BEFORE = 64;
export const ENDS_BEHIND = 128;
const LANES_BITS = 2 ** 20;

export function rowKey(track: number, lane: number): number {
  return track * LANES_BITS + lane;
}

/** Hands out consecutive arrays of a buffer. */
class Reader {
  constructor(
    private readonly buffer: ArrayBuffer,
    private at: number,
  ) {}

  take<T>(
    kind: { new (buffer: ArrayBuffer, at: number, length: number): T; BYTES_PER_ELEMENT: number },
    length: number,
  ): T {
    const found = new kind(this.buffer, this.at, length);
    this.at += length * kind.BYTES_PER_ELEMENT;
    return found;
  }
}

/** Reads the bytes of `tile`; throws when they are not a tile of version 1. */
export function decodeTile(buffer: ArrayBuffer): Tile {
  const head = new DataView(buffer);
  if (buffer.byteLength < HEADER_BYTES || head.getUint32(0, true) !== MAGIC) {
    throw new Error("The answer is not a tile.");
  }
  if (head.getUint16(4, true) !== 1) throw new Error("The tile has an unknown version.");
  const int64 = (at: number) => Number(head.getBigInt64(at, true));
  const [rows, slices, names, series, points] = [40, 44, 48, 52, 56].map((at) =>
    head.getUint32(at, true),
  ) as [number, number, number, number, number];
  const read = new Reader(buffer, head.getUint16(6, true));
  const least = read.take(Float64Array, points);
  const most = read.take(Float64Array, points);
  const last = read.take(Float64Array, points);
  const rowTrack = read.take(Uint32Array, rows);
  const rowLane = read.take(Uint32Array, rows);
  const rowBegin = read.take(Uint32Array, rows + 1);
  const nameIds = read.take(Uint32Array, names);
  const counterTrack = read.take(Uint32Array, series);
  const counterBegin = read.take(Uint32Array, series + 1);
  const rowOf = new Map<number, number>();
  for (let row = 0; row < rows; row++) {
    rowOf.set(rowKey(rowTrack[row] as number, rowLane[row] as number), row);
  }
  return {
    begin: int64(8),
    end: int64(16),
    bucket: int64(24),
    unit: int64(32),
    rowTrack,
    rowLane,
    rowBegin,
    names: nameIds,
    event: read.take(Uint32Array, slices),
    count: read.take(Uint32Array, slices),
    name: read.take(Uint16Array, slices),
    x0: read.take(Uint16Array, slices),
    x1: read.take(Uint16Array, slices),
    counters: {
      track: counterTrack,
      begin: counterBegin,
      x: read.take(Uint16Array, points),
      least,
      most,
      last,
    },
    fill: read.take(Uint8Array, slices),
    kind: read.take(Uint8Array, slices),
    rowOf,
    bytes: buffer.byteLength,
  };
}

/** First slice of `[low, high)` whose x1 is at or after `x`; slices are in order of x. */
export function firstEndingAt(tile: Tile, low: number, high: number, x: number): number {
  let from = low;
  let to = high;
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((tile.x1[middle] as number) < x) from = middle + 1;
    else to = middle;
  }
  return from;
}
