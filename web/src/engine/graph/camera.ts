/** What part of a drawing is seen, and how large. */

import type { Layout, Point } from "./layered_layout.ts";

export interface Camera {
  /** Middle of the view, in the drawing's own px. */
  readonly x: number;
  readonly y: number;
  /** Screen px per px of the drawing. */
  readonly scale: number;
}

export interface View {
  readonly width: number;
  readonly height: number;
}

const MARGIN_PX = 16;
const LEAST_SCALE = 0.05;
const MOST_SCALE = 3;
/** Smaller, texts could not be read: a graph that does not fit begins at its centre instead. */
const READABLE_SCALE = 0.45;
const FIRST_SCALE = 0.85;

function clampScale(scale: number): number {
  return Math.min(MOST_SCALE, Math.max(LEAST_SCALE, scale));
}

/** All of the drawing, never enlarged. */
export function fitted(layout: Layout, view: View): Camera {
  const across = (view.width - 2 * MARGIN_PX) / Math.max(1, layout.width);
  const down = (view.height - 2 * MARGIN_PX) / Math.max(1, layout.height);
  const scale = clampScale(Math.min(1, across, down));
  return { x: layout.width / 2, y: layout.height / 2, scale };
}

/** All of the drawing where that is readable, else its surroundings of a point. */
export function begun(layout: Layout, view: View, at: Point | undefined): Camera {
  const all = fitted(layout, view);
  if (all.scale >= READABLE_SCALE || !at) return all;
  const scale = Math.max(all.scale, FIRST_SCALE);
  return {
    x: within(at.x, layout.width, view.width / scale),
    y: within(at.y, layout.height, view.height / scale),
    scale,
  };
}

/** The middle of a view of a length nearest to a place, that shows nothing beyond the drawing. */
function within(place: number, length: number, seen: number): number {
  const least = seen / 2 - MARGIN_PX;
  const most = length - least;
  return most < least ? length / 2 : Math.min(most, Math.max(least, place));
}

/** Enlarged by a factor about a point of the screen, which stays where it is. */
export function zoomed(camera: Camera, factor: number, at: Point, view: View): Camera {
  const scale = clampScale(camera.scale * factor);
  const [dx, dy] = [at.x - view.width / 2, at.y - view.height / 2];
  return {
    x: camera.x + dx / camera.scale - dx / scale,
    y: camera.y + dy / camera.scale - dy / scale,
    scale,
  };
}

/** Moved by a distance on the screen. */
export function moved(camera: Camera, dx: number, dy: number): Camera {
  return { ...camera, x: camera.x - dx / camera.scale, y: camera.y - dy / camera.scale };
}

/** Moved just so far that a box is in view. */
export function showing(camera: Camera, at: Point, box: View, view: View): Camera {
  const reach = (size: number, own: number) =>
    Math.max(0, size / 2 / camera.scale - own / 2 - MARGIN_PX);
  const near = (from: number, to: number, most: number) =>
    Math.abs(to - from) <= most ? from : to - Math.sign(to - from) * most;
  return {
    ...camera,
    x: near(camera.x, at.x, reach(view.width, box.width)),
    y: near(camera.y, at.y, reach(view.height, box.height)),
  };
}

/** The transformation as SVG writes it. */
export function transformOf({ x, y, scale }: Camera, view: View): string {
  const dx = view.width / 2 - x * scale;
  const dy = view.height / 2 - y * scale;
  return `translate(${dx.toFixed(2)} ${dy.toFixed(2)}) scale(${scale.toFixed(4)})`;
}

/** Whether a rectangle around a point is in view. */
export function isSeen(camera: Camera, at: Point, box: View, view: View): boolean {
  return (
    Math.abs(at.x - camera.x) * 2 <= view.width / camera.scale + box.width &&
    Math.abs(at.y - camera.y) * 2 <= view.height / camera.scale + box.height
  );
}

/**
 * The nearest place in a direction, for arrow keys: what lies aside counts twice. -1 when there is
 * nothing on that side.
 */
export function neighbourOf(
  places: readonly Point[],
  from: number,
  key: "ArrowLeft" | "ArrowRight" | "ArrowUp" | "ArrowDown",
): number {
  const at = places[from];
  if (!at) return places.length > 0 ? 0 : -1;
  const sideways = key === "ArrowLeft" || key === "ArrowRight";
  const sign = key === "ArrowLeft" || key === "ArrowUp" ? -1 : 1;
  let best = -1;
  let least = Number.POSITIVE_INFINITY;
  places.forEach((place, i) => {
    const ahead = sign * (sideways ? place.x - at.x : place.y - at.y);
    const aside = Math.abs(sideways ? place.y - at.y : place.x - at.x);
    if (i === from || ahead <= 0.5) return;
    const far = ahead + 2 * aside;
    if (far < least) {
      least = far;
      best = i;
    }
  });
  return best;
}
