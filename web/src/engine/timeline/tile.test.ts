import assert from "node:assert/strict";
import { test } from "node:test";
import { sliceAt } from "./hit_test.ts";
import { rasterRow } from "./raster.ts";
import {
  BEGINS_BEFORE,
  decodeTile,
  ENDS_BEHIND,
  firstEndingAt,
  rowKey,
  type Tile,
} from "./tile.ts";
import { parentOf, type TileAddress, tileSpan } from "./tile_grid.ts";
import { TileStore } from "./tile_store.ts";

interface Slice {
  readonly x0: number;
  readonly x1: number;
  readonly event: number;
  readonly count?: number;
  readonly fill?: number;
  readonly kind?: number;
}

/** The bytes of a tile of one lane, as docs/timeline-format.md lays them down. */
function tileBytes(begin: number, unit: number, slices: readonly Slice[]): ArrayBuffer {
  const head = new ArrayBuffer(64);
  const view = new DataView(head);
  for (const [i, letter] of [..."SSTL"].entries()) view.setUint8(i, letter.charCodeAt(0));
  view.setUint16(4, 1, true);
  view.setUint16(6, 64, true);
  for (const [i, value] of [begin, begin + 65_536 * unit, 64 * unit, unit].entries()) {
    view.setBigInt64(8 + 8 * i, BigInt(value), true);
  }
  for (const [i, value] of [1, slices.length, 1, 0, 0, 0].entries()) {
    view.setUint32(40 + 4 * i, value, true);
  }
  const parts = [
    Uint32Array.of(7),
    Uint32Array.of(2),
    Uint32Array.of(0, slices.length),
    Uint32Array.of(11),
    Uint32Array.of(),
    Uint32Array.of(0),
    Uint32Array.from(slices, (each) => each.event),
    Uint32Array.from(slices, (each) => each.count ?? 1),
    Uint16Array.from(slices, () => 0),
    Uint16Array.from(slices, (each) => each.x0),
    Uint16Array.from(slices, (each) => each.x1),
    Uint8Array.from(slices, (each) => each.fill ?? 255),
    Uint8Array.from(slices, (each) => each.kind ?? 3),
  ].map((array) => new Uint8Array(array.buffer));
  const all = new Uint8Array(64 + parts.reduce((sum, part) => sum + part.length, 0));
  all.set(new Uint8Array(head));
  let at = 64;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all.buffer;
}

const made = (begin: number, unit: number, slices: readonly Slice[]): Tile =>
  decodeTile(tileBytes(begin, unit, slices));

test("a tile is read in the order of its arrays", () => {
  const tile = made(1000, 2, [
    { x0: 0, x1: 10, event: 5 },
    { x0: 20, x1: 21, event: 9, count: 3, fill: 100, kind: 4 },
  ]);
  assert.equal(tile.begin, 1000);
  assert.equal(tile.unit, 2);
  assert.equal(tile.rowOf.get(rowKey(7, 2)), 0);
  assert.deepEqual([...tile.event], [5, 9]);
  assert.deepEqual([...tile.count], [1, 3]);
  assert.deepEqual([...tile.x1], [10, 21]);
  assert.deepEqual([...tile.fill], [255, 100]);
  assert.deepEqual([...tile.kind], [3, 4]);
  assert.deepEqual([...tile.names], [11]);
});

test("other bytes, and other versions, are not tiles", () => {
  assert.throws(() => decodeTile(new ArrayBuffer(64)), /not a tile/);
  assert.throws(() => decodeTile(new ArrayBuffer(3)), /not a tile/);
  const bytes = tileBytes(0, 1, []);
  new DataView(bytes).setUint16(4, 2, true);
  assert.throws(() => decodeTile(bytes), /unknown version/);
});

test("the first slice that reaches a place is found among many", () => {
  const slices = Array.from({ length: 100 }, (_, i) => ({ x0: i * 10, x1: i * 10 + 5, event: i }));
  const tile = made(0, 1, slices);
  assert.equal(firstEndingAt(tile, 0, 100, 0), 0);
  assert.equal(firstEndingAt(tile, 0, 100, 506), 51);
  assert.equal(firstEndingAt(tile, 0, 100, 505), 50);
  assert.equal(firstEndingAt(tile, 0, 100, 10_000), 100);
});

const SHADING = {
  colours: Uint32Array.from({ length: 32 }, (_, i) => i + 1),
  edges: Uint32Array.from({ length: 32 }, (_, i) => i + 101),
};

function drawn(tile: Tile, width: number, begin: number, end: number, clip = { begin, end }) {
  const pixels = new Uint32Array(width);
  const strip = { pixels, width, view: { begin, end } };
  rasterRow(strip, 0, tile, 0, clip, new Uint8Array(tile.event.length), SHADING);
  return [...pixels];
}

test("slices are drawn where they lie, the first pixel of a wide one as its edge", () => {
  const tile = made(0, 1, [{ x0: 2, x1: 8, event: 0 }]);
  assert.deepEqual(drawn(tile, 10, 0, 10), [0, 0, 116, 16, 16, 16, 16, 16, 0, 0]);
});

test("what goes on from the tile before has no edge there", () => {
  const tile = made(0, 1, [{ x0: 0, x1: 8, event: 0, kind: 3 | BEGINS_BEFORE }]);
  assert.deepEqual(drawn(tile, 10, 0, 10).slice(0, 3), [16, 16, 16]);
});

test("nothing is too short to be seen, and a shade tells how busy a slice is", () => {
  const tile = made(0, 1, [
    { x0: 300, x1: 300, event: 0 },
    { x0: 700, x1: 710, event: 1, count: 9, fill: 16 },
  ]);
  assert.deepEqual(drawn(tile, 10, 0, 1000), [0, 0, 0, 16, 0, 0, 0, 2, 0, 0]);
});

test("a tile draws only on its own part of the axis", () => {
  const tile = made(0, 1, [{ x0: 0, x1: 10, event: 0 }]);
  const line = drawn(tile, 10, 0, 10, { begin: 3, end: 6 });
  assert.deepEqual(line, [0, 0, 0, 16, 16, 16, 0, 0, 0, 0]);
});

test("every event of a lane is under some pixel", () => {
  const slices = Array.from({ length: 3000 }, (_, i) => ({ x0: i * 20, x1: i * 20 + 7, event: i }));
  const tile = made(0, 1, slices);
  const line = drawn(tile, 6000, 0, 60_000);
  for (let i = 0; i < 3000; i++) assert.notEqual(line[i * 2], 0, `event ${i}`);
});

const everything = { begin: 0, end: 10 ** 9 };

test("the slice under a point is found, or the nearest within reach", () => {
  const tile = made(0, 1, [
    { x0: 10, x1: 20, event: 1 },
    { x0: 30, x1: 30, event: 2 },
  ]);
  const tiles = [{ tile, clip: everything, exact: true }];
  assert.equal(sliceAt(tiles, 7, 2, 15, 2)?.event, 1);
  assert.equal(sliceAt(tiles, 7, 2, 28.5, 2)?.event, 2);
  assert.equal(sliceAt(tiles, 7, 2, 25, 2), null);
  assert.equal(sliceAt(tiles, 7, 1, 15, 2), null);
});

test("an event cut by a tile's edge is reported whole", () => {
  const first = made(0, 1, [{ x0: 60_000, x1: 65_535, event: 4, kind: 3 | ENDS_BEHIND }]);
  const second = made(65_536, 1, [{ x0: 0, x1: 64, event: 4, kind: 3 | BEGINS_BEFORE }]);
  const tiles = [first, second].map((tile) => ({ tile, clip: everything, exact: true }));
  const hit = sliceAt(tiles, 7, 2, 65_540, 2);
  assert.deepEqual(hit?.span, { begin: 60_000, end: 65_600 });
  assert.equal(hit?.cut, false);
});

const at = (level: number, index: number): TileAddress => ({ group: 0, level, index });

test("a missing tile is was in for by a coarser one, else by finer ones", () => {
  const store = new TileStore();
  const tile = made(0, 1, []);
  store.put(at(8, 0), tile);
  const coarse = store.standIns(at(4, 3));
  assert.equal(coarse.length, 1);
  assert.equal(coarse[0]?.exact, false);
  assert.deepEqual(coarse[0]?.clip, tileSpan(at(4, 3)));
  const finer = new TileStore();
  finer.put(at(2, 12), tile);
  finer.put(at(2, 14), tile);
  const parts = finer.standIns(at(4, 3)).map((each) => each.clip.begin);
  assert.deepEqual(parts, [tileSpan(at(2, 12)).begin, tileSpan(at(2, 14)).begin]);
  assert.deepEqual(parentOf(at(2, -1)), at(4, -1));
});

test("the tiles used longest ago are dropped", () => {
  const store = new TileStore();
  const tile = made(0, 1, []);
  for (let index = 0; index < 700; index++) store.put(at(0, index), tile);
  assert.equal(store.has(at(0, 0)), false);
  assert.equal(store.has(at(0, 699)), true);
});
