/** The stage: the canvas with the tracks, their names beside it, and what hand and keys do there. */

import { effect } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { Row } from "../engine/timeline/screen.ts";
import { Gestures } from "./gestures.ts";
import { Gutter } from "./gutter.tsx";
import { HoverCard } from "./hover_card.tsx";
import type { TimelineMachine } from "./machine.ts";
import { paintOverlay } from "./paint_overlay.ts";
import { readPalette } from "./palette.ts";
import { onTheme } from "./theme.ts";

const LEAST_HEIGHT_PX = 80;

export function Stage({ machine }: { machine: TimelineMachine }) {
  const { state } = machine;
  const scroller = useRef<HTMLDivElement>(null);
  const stage = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  useSize(machine, scroller, stage);
  useScroll(machine, scroller);
  usePainting(machine, canvas);
  usePointer(machine, stage);
  const { layout, size } = state;
  const tall = layout.value.height + layout.value.pinnedHeight;
  const { width, height } = size.value;
  return (
    <div class="tl-scroller" ref={scroller}>
      <div class="tl-held" style={{ height: `${height}px` }}>
        <Gutter machine={machine} />
        <div
          class={`tl-stage hand-${state.hand.value}`}
          ref={stage}
          role="application"
          tabIndex={0}
          aria-label="Timeline"
          aria-describedby="tl-how"
        >
          <canvas ref={canvas} style={{ width: `${width}px`, height: `${height}px` }} />
          <HoverCard machine={machine} />
        </div>
      </div>
      <div style={{ height: `${Math.max(0, tall - height)}px` }} />
    </div>
  );
}

type Box = { readonly current: HTMLDivElement | null };

function useSize(machine: TimelineMachine, scroller: Box, stage: Box): void {
  useLayoutEffect(() => {
    const measure = () => {
      const height = Math.max(LEAST_HEIGHT_PX, scroller.current?.clientHeight ?? 0);
      const width = Math.floor(stage.current?.clientWidth ?? 0);
      const known = machine.state.size.value;
      if (known.width !== width || known.height !== height) {
        machine.state.size.value = { width, height };
      }
    };
    measure();
    const observer = new ResizeObserver(measure);
    if (scroller.current) observer.observe(scroller.current);
    if (stage.current) observer.observe(stage.current);
    return () => observer.disconnect();
  }, [machine]);
}

function useScroll(machine: TimelineMachine, scroller: Box): void {
  const { state } = machine;
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
  }, [machine]);
}

function usePainting(
  machine: TimelineMachine,
  canvas: { readonly current: HTMLCanvasElement | null },
): void {
  const { state } = machine;
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
      machine.paint(context, dpr, palette);
      machine.look();
      machine.tags = paintOverlay(context, screen, machine.overlay(), palette);
    };
    const schedule = () => {
      if (frame === 0) frame = requestAnimationFrame(paint);
    };
    const stop = effect(() => {
      machine.watch();
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
  }, [machine]);
}

function usePointer(machine: TimelineMachine, stage: Box): void {
  const { state } = machine;
  const hitAt = useMemo(
    () => (row: Row, time: number) => machine.painter.hit(row, time),
    [machine],
  );
  useEffect(() => {
    if (!stage.current) return;
    return new Gestures(state, stage.current, hitAt, () => machine.tags).listen();
  }, [machine, hitAt]);
}
