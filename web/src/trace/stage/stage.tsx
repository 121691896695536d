/** The stage: the canvas with the tracks, their names beside it, and what hand and keys do there. */

import { effect } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { Row } from "../../engine/timeline/screen.ts";
import { onTheme } from "../../widgets/theme.ts";
import { paintOverlay } from "../paint/overlay.ts";
import { readPalette } from "../paint/palette.ts";
import { Gestures } from "./gestures.ts";
import { HoverCard } from "./hover_card.tsx";
import type { Timeline } from "./timeline.ts";
import { Gutter } from "./track_names.tsx";

const LEAST_HEIGHT_PX = 80;

export function Stage({ timeline }: { timeline: Timeline }) {
  const { state } = timeline;
  const scroller = useRef<HTMLDivElement>(null);
  const stage = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  useSize(timeline, scroller, stage);
  useScroll(timeline, scroller);
  usePainting(timeline, canvas);
  usePointer(timeline, stage);
  const { layout, size } = state;
  const tall = layout.value.height + layout.value.pinnedHeight;
  const { width, height } = size.value;
  return (
    <div class="tl-scroller" ref={scroller}>
      <div class="tl-held" style={{ height: `${height}px` }}>
        <Gutter timeline={timeline} />
        <div
          class={`tl-stage hand-${state.hand.value}`}
          ref={stage}
          role="application"
          tabIndex={0}
          aria-label="Timeline"
          aria-describedby="tl-how"
        >
          <canvas ref={canvas} style={{ width: `${width}px`, height: `${height}px` }} />
          <HoverCard timeline={timeline} />
        </div>
      </div>
      <div style={{ height: `${Math.max(0, tall - height)}px` }} />
    </div>
  );
}

type Box = { readonly current: HTMLDivElement | null };

function useSize(timeline: Timeline, scroller: Box, stage: Box): void {
  useLayoutEffect(() => {
    const measure = () => {
      const height = Math.max(LEAST_HEIGHT_PX, scroller.current?.clientHeight ?? 0);
      const width = Math.floor(stage.current?.clientWidth ?? 0);
      const known = timeline.state.size.value;
      if (known.width !== width || known.height !== height) {
        timeline.state.size.value = { width, height };
      }
    };
    measure();
    const observer = new ResizeObserver(measure);
    if (scroller.current) observer.observe(scroller.current);
    if (stage.current) observer.observe(stage.current);
    return () => observer.disconnect();
  }, [timeline]);
}

function useScroll(timeline: Timeline, scroller: Box): void {
  const { state } = timeline;
  useEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const onScroll = () => {
      state.scroll.value = element.scrollTop;
    };
    element.addEventListener("scroll", onScroll, { passive: true });
    const stop = effect(() => {
      const wanted = state.scroll.value;
      // The area has to be as tall as it will be before it can be scrolled there.
      void state.layout.value;
      requestAnimationFrame(() => {
        if (Math.abs(element.scrollTop - wanted) > 1) element.scrollTop = wanted;
      });
    });
    return () => {
      stop();
      element.removeEventListener("scroll", onScroll);
    };
  }, [timeline]);
}

function usePainting(
  timeline: Timeline,
  canvas: { readonly current: HTMLCanvasElement | null },
): void {
  const { state } = timeline;
  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d", { alpha: false });
    if (!element || !context) return;
    let frame = 0;
    let palette = readPalette(element.parentElement as HTMLElement, state.meta);
    const paint = () => {
      frame = 0;
      const screen = state.screen.peek();
      if (screen.width < 1) return;
      const dpr = window.devicePixelRatio || 1;
      const [width, height] = [Math.round(screen.width * dpr), Math.round(screen.height * dpr)];
      if (element.width !== width || element.height !== height) {
        element.width = width;
        element.height = height;
      }
      timeline.paint(context, dpr, palette);
      timeline.look();
      timeline.tags = paintOverlay(context, screen, timeline.overlay(), palette);
    };
    const schedule = () => {
      if (frame === 0) frame = requestAnimationFrame(paint);
    };
    const stop = effect(() => {
      timeline.watch();
      schedule();
    });
    const unfollow = onTheme(() => {
      palette = readPalette(element.parentElement as HTMLElement, state.meta);
      schedule();
    });
    return () => {
      stop();
      cancelAnimationFrame(frame);
      unfollow();
    };
  }, [timeline]);
}

function usePointer(timeline: Timeline, stage: Box): void {
  const { state } = timeline;
  const hitAt = useMemo(
    () => (row: Row, time: number) => timeline.painter.hit(row, time),
    [timeline],
  );
  useEffect(() => {
    if (!stage.current) return;
    return new Gestures(state, stage.current, hitAt, () => timeline.tags).listen();
  }, [timeline, hitAt]);
}
