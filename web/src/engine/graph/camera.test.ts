import assert from "node:assert/strict";
import { test } from "node:test";
import { begun, fitted, isSeen, moved, neighbourOf, showing, zoomed } from "./camera.ts";

const view = { width: 800, height: 400 };
const layout = { places: [], bends: [], width: 1536, height: 200 };

test("a drawing is fitted into the view and never enlarged", () => {
  assert.deepEqual(fitted(layout, view), { x: 768, y: 100, scale: 0.5 });
  assert.equal(fitted({ ...layout, width: 10, height: 10 }, view).scale, 1);
});

test("a drawing too large to be read begins at its centre", () => {
  // At 0.85, 800 × 400 px of screen show 941 × 471 px of it.
  const large = { ...layout, width: 3000, height: 1000 };
  assert.deepEqual(begun(large, view, { x: 1000, y: 500 }), { x: 1000, y: 500, scale: 0.85 });
  assert.equal(begun({ ...layout, width: 900 }, view, { x: 5, y: 6 }).x, 450);
});

test("a view that begins at the edge shows no empty half", () => {
  const start = begun({ ...layout, width: 3000, height: 1000 }, view, { x: 5, y: 995 });
  assert.equal(Math.round(start.x), Math.round(800 / 0.85 / 2 - 16));
  assert.equal(Math.round(start.y), Math.round(1000 - 400 / 0.85 / 2 + 16));
  // What is lower than the view is in its middle.
  assert.equal(begun({ ...layout, width: 3000 }, view, { x: 5, y: 6 }).y, 100);
});

test("the point under the pointer stays there as the drawing grows", () => {
  const camera = { x: 100, y: 50, scale: 1 };
  const at = { x: 600, y: 100 };
  const under = (c: typeof camera) => [c.x + (at.x - 400) / c.scale, c.y + (at.y - 200) / c.scale];
  assert.deepEqual(under(zoomed(camera, 2, at, view)), under(camera));
  assert.equal(zoomed(camera, 1e9, at, view).scale, 3);
});

test("a drag moves the drawing with the hand", () => {
  assert.deepEqual(moved({ x: 100, y: 50, scale: 2 }, 20, -10), { x: 90, y: 55, scale: 2 });
});

test("the camera follows only as far as a box needs", () => {
  const camera = { x: 0, y: 0, scale: 1 };
  assert.deepEqual(showing(camera, { x: 300, y: 0 }, { width: 100, height: 40 }, view), camera);
  assert.equal(showing(camera, { x: 500, y: 0 }, { width: 100, height: 40 }, view).x, 166);
});

test("what is outside of the view is not seen", () => {
  const camera = { x: 0, y: 0, scale: 1 };
  assert.equal(isSeen(camera, { x: 440, y: 0 }, { width: 100, height: 40 }, view), true);
  assert.equal(isSeen(camera, { x: 460, y: 0 }, { width: 100, height: 40 }, view), false);
});

test("arrow keys go to the nearest place on their side", () => {
  const places = [
    { x: 0, y: 0 },
    { x: 10, y: 100 },
    { x: 300, y: 90 },
    { x: 0, y: -50 },
  ];
  assert.equal(neighbourOf(places, 0, "ArrowDown"), 1);
  assert.equal(neighbourOf(places, 0, "ArrowUp"), 3);
  assert.equal(neighbourOf(places, 1, "ArrowRight"), 2);
  assert.equal(neighbourOf(places, 2, "ArrowRight"), -1);
  assert.equal(neighbourOf([], 0, "ArrowUp"), -1);
});
