import assert from "node:assert/strict";
import { test } from "node:test";
import { type Arc, arcPath, layered, separated } from "./layered_layout.ts";

const box = { width: 100, height: 40 };

function graph(nodes: number, ...arcs: (readonly [number, number])[]) {
  const list: Arc[] = arcs.map(([from, to]) => ({ from, to }));
  return { layout: layered(Array(nodes).fill(box), list), list };
}

test("a chain runs straight down", () => {
  const { layout } = graph(3, [0, 1], [1, 2]);
  assert.deepEqual(layout.places, [
    { x: 50, y: 20 },
    { x: 50, y: 94 },
    { x: 50, y: 168 },
  ]);
  assert.equal(layout.height, 188);
  assert.deepEqual(layout.bends[0], [
    { x: 50, y: 40 },
    { x: 50, y: 74 },
  ]);
});

test("boxes of one layer do not overlap", () => {
  const { layout } = graph(6, [0, 1], [0, 2], [0, 3], [0, 4], [0, 5]);
  const xs = layout.places
    .slice(1)
    .map(({ x }) => x)
    .sort((a, b) => a - b);
  for (let i = 1; i < xs.length; i++) {
    assert.ok((xs[i] as number) - (xs[i - 1] as number) >= 100, `${xs}`);
  }
  assert.equal(layout.places[0]?.x, (xs[0] as number) / 2 + (xs[4] as number) / 2);
});

test("an order without crossings is found where there is one", () => {
  // 0 → 3, 1 → 2: drawn in the order they come, the two arcs would cross.
  const { layout } = graph(4, [0, 3], [1, 2]);
  const x = (i: number) => layout.places[i]?.x as number;
  assert.equal(x(0) < x(1), x(3) < x(2));
});

test("an edge over several layers bends around what lies between", () => {
  const { layout } = graph(4, [0, 1], [1, 2], [2, 3], [0, 3]);
  const bend = layout.bends[3] ?? [];
  assert.equal(bend.length, 6);
  for (const layer of [1, 2]) {
    const passed = layout.places[layer] as { x: number; y: number };
    const [into, out] = [bend[2 * layer - 1], bend[2 * layer]];
    assert.deepEqual([into?.y, out?.y], [passed.y - 20, passed.y + 20]);
    assert.ok(Math.abs((into?.x ?? 0) - passed.x) >= 50, "it runs through the box it passes");
    assert.equal(into?.x, out?.x);
  }
});

test("a source stands directly above what needs it", () => {
  const { layout } = graph(4, [0, 1], [1, 2], [3, 2]);
  assert.equal(layout.places[3]?.y, layout.places[1]?.y);
});

test("cycles, arcs to oneself and double arcs end", () => {
  const { layout } = graph(3, [0, 1], [1, 2], [2, 0], [1, 1], [0, 1]);
  assert.equal(layout.places.length, 3);
  assert.deepEqual(layout.bends[3], []);
  const back = layout.bends[2] ?? [];
  assert.ok((back[0]?.y as number) > (back.at(-1)?.y as number), "the arc keeps its direction");
});

test("nothing is laid out as nothing", () => {
  assert.deepEqual(layered([], []), { places: [], bends: [], width: 0, height: 0 });
});

test("separation moves boxes as little as their order allows", () => {
  // Both want 0: each gives way by half of the distance, 100 + 18.
  assert.deepEqual(separated([0, 0], [100, 100]), [-59, 59]);
  assert.deepEqual(separated([0, 500], [100, 100]), [0, 500]);
});

test("a path touches its ends", () => {
  assert.equal(
    arcPath([
      { x: 0, y: 0 },
      { x: 10, y: 20 },
    ]),
    "M0.0 0.0C0.0 10.0 10.0 10.0 10.0 20.0",
  );
  assert.equal(arcPath([]), "");
});

/** Lays out a graph in which every node has two arcs into it; milliseconds it takes. */
function laidOutIn(nodes: number): number {
  const arcs: (readonly [number, number])[] = [];
  for (let i = 1; i < nodes; i++) {
    arcs.push([Math.floor(i / 2), i]);
    arcs.push([(i * 7919) % i, i]);
  }
  const start = performance.now();
  const { layout } = graph(nodes, ...arcs);
  const took = performance.now() - start;
  assert.ok(layout.places.every(({ x, y }) => Number.isFinite(x) && Number.isFinite(y)));
  return took;
}

test("twice the nodes do not take a dozen times as long", () => {
  laidOutIn(500);
  // The best of three: whatever else the machine does only adds.
  const best = (nodes: number): number =>
    Math.min(laidOutIn(nodes), laidOutIn(nodes), laidOutIn(nodes));
  const half = best(1000);
  const whole = best(2000);
  assert.ok(whole < half * 12, `${half} ms for 1000 nodes, ${whole} ms for 2000`);
});
