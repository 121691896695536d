/** Whole trace in little: how busy each section is, where hits are, and what is in view. */

import { useEffect, useRef } from "preact/hooks";
import { duration } from "../../base/format.ts";
import type { Density } from "../../base/timeline.ts";
import { axisTime } from "../../engine/timeline/time_axis.ts";
import { clampSpan, panned, zoomed } from "../../engine/timeline/viewport.ts";
import { onTheme } from "../../widgets/theme.ts";
import { readPalette } from "../paint/palette.ts";
import type { Timeline } from "./timeline.ts";

const MAP_PX = 44;
const EDGE_PX = 6;
const NARROWEST_PX = 2;

export function Minimap({ timeline }: { timeline: Timeline }) {
  const { state } = timeline;
  const canvas = useRef<HTMLCanvasElement>(null);
  const density = timeline.density.value;
  const { width } = state.size.value;
  const found = state.found.value.value;
  useEffect(() => {
    const element = canvas.current;
    if (!element || width <= 0) return;
    const paint = () => draw(element, timeline, density, found?.columns ?? []);
    paint();
    return onTheme(paint);
  }, [density, width, found, timeline]);
  const { whole } = state;
  const length = whole.end - whole.begin;
  const view = state.view.value;
  const share = (time: number) => Math.min(1, Math.max(0, (time - whole.begin) / length));
  const left = share(view.begin) * width;
  const right = Math.max(left + NARROWEST_PX, share(view.end) * width);
  return (
    <div class="tl-minimap">
      <div class="tl-corner quiet">{duration(length, "ps")} of events</div>
      <div
        class="tl-map"
        role="slider"
        tabIndex={0}
        aria-label="Part of the trace in view"
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.round(share((view.begin + view.end) / 2) * 100)}
        aria-valuetext={`${axisTime(view.begin)} to ${axisTime(view.end)}`}
        onPointerDown={(event) => brush(timeline, event, width)}
        onKeyDown={(event) => onKey(timeline, event)}
      >
        <canvas ref={canvas} style={{ width: `${width}px`, height: `${MAP_PX}px` }} />
        <div class="tl-shade" style={{ left: "0", width: `${left}px` }} />
        <div class="tl-shade" style={{ left: `${right}px`, right: "0" }} />
        <div class="tl-window" style={{ left: `${left}px`, width: `${right - left}px` }} />
      </div>
    </div>
  );
}

function draw(
  element: HTMLCanvasElement,
  { state, meta }: Timeline,
  density: Density | null,
  hits: readonly number[],
): void {
  const dpr = window.devicePixelRatio || 1;
  const { width } = state.size.value;
  element.width = Math.round(width * dpr);
  element.height = Math.round(MAP_PX * dpr);
  const context = element.getContext("2d");
  if (!context) return;
  const palette = readPalette(element.parentElement as HTMLElement, meta);
  context.setTransform(dpr, 0, 0, dpr, 0, 0);
  context.clearRect(0, 0, width, MAP_PX);
  const sections = (density?.sections ?? []).filter((each) => each.tracks > 0);
  const each = (MAP_PX - 6) / Math.max(1, sections.length);
  sections.forEach((section, place) => {
    const kind = meta.sections[section.section]?.kind;
    context.fillStyle = kind === "device" ? palette.theme.picked : palette.counter;
    const most = Math.max(0.001, ...section.active);
    section.active.forEach((active, column) => {
      const starts = (section.starts[column] ?? 0) > 0;
      if (active <= 0 && !starts) return;
      context.globalAlpha = 0.25 + 0.75 * (active / most);
      // Whole pixels: between fractions the translucent columns would show seams.
      const x = Math.round((column / section.active.length) * width);
      const px = Math.max(1, Math.round(((column + 1) / section.active.length) * width) - x);
      context.fillRect(x, 2 + place * each, px, Math.max(1, each - 1));
    });
  });
  context.globalAlpha = 1;
  context.fillStyle = palette.found;
  hits.forEach((count, column) => {
    if (count > 0) context.fillRect((column / hits.length) * width, MAP_PX - 5, 2, 5);
  });
}

/** Drags the window, one of its edges, or a new window. */
function brush({ state }: Timeline, down: PointerEvent, width: number): void {
  const box = (down.currentTarget as HTMLElement).getBoundingClientRect();
  const { whole } = state;
  const perPx = (whole.end - whole.begin) / width;
  const timeOf = (event: PointerEvent) => whole.begin + (event.clientX - box.left) * perPx;
  const first = state.view.value;
  const start = timeOf(down);
  const near = (time: number) => Math.abs(time - start) < EDGE_PX * perPx;
  const edge = near(first.begin) ? "begin" : near(first.end) ? "end" : null;
  const isAll = first.begin <= whole.begin && first.end >= whole.end;
  const inside = !isAll && start > first.begin && start < first.end;
  const control = new AbortController();
  const { signal } = control;
  const set = (a: number, b: number) => {
    state.view.value = clampSpan({ begin: Math.min(a, b), end: Math.max(a, b) }, whole);
  };
  let moved = false;
  const move = (event: PointerEvent) => {
    moved ||= Math.abs(event.clientX - down.clientX) > 2;
    if (!moved) return;
    const time = timeOf(event);
    if (edge && !isAll) set(edge === "begin" ? first.end : first.begin, time);
    else if (inside) state.view.value = panned(first, time - start, whole);
    else set(start, time);
  };
  const up = () => {
    if (!moved && !edge) {
      const half = (first.end - first.begin) / 2;
      state.view.value = clampSpan({ begin: start - half, end: start + half }, whole);
    }
    control.abort();
  };
  window.addEventListener("pointermove", move, { signal });
  window.addEventListener("pointerup", up, { signal });
  down.preventDefault();
}

function onKey({ state }: Timeline, event: KeyboardEvent): void {
  const view = state.view.value;
  const step = (view.end - view.begin) / 4;
  if (event.key === "ArrowLeft") state.view.value = panned(view, -step, state.whole);
  else if (event.key === "ArrowRight") state.view.value = panned(view, step, state.whole);
  else if (event.key === "ArrowUp") state.view.value = zoomed(view, 0.7, 0.5, state.whole);
  else if (event.key === "ArrowDown") state.view.value = zoomed(view, 1.4, 0.5, state.whole);
  else if (event.key === "Home")
    state.view.value = panned(view, state.whole.begin - view.begin, state.whole);
  else if (event.key === "End")
    state.view.value = panned(view, state.whole.end - view.end, state.whole);
  else return;
  event.preventDefault();
}
