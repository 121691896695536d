/** What wheel, mouse and fingers do on the stage. */

import type { Span } from "../../base/timeline.ts";
import type { Hit } from "../../engine/timeline/hit_test.ts";
import type { Row } from "../../engine/timeline/screen.ts";
import { rowAt, timeAt, tracksBetween } from "../../engine/timeline/screen.ts";
import { clampSpan, panned, zoomed } from "../../engine/timeline/viewport.ts";
import type { TimelineState } from "../model/state.ts";
import type { Tag } from "../paint/arrows.ts";

const WHEEL_STEP = 1.0018;
const CLICK_PX = 4;
const DOUBLE_MS = 400;
const DOUBLE_PX = 8;
const ZOOM_PX = 120;
const LINE_PX = 16;

type HitAt = (row: Row, time: number) => Hit | null;

interface Press {
  readonly id: number;
  readonly x: number;
  readonly y: number;
  readonly view: Span;
  readonly scroll: number;
  readonly hand: "select" | "pan" | "zoom" | "timing";
  moved: boolean;
}

interface Point {
  readonly x: number;
  readonly y: number;
}

export class Gestures {
  private press: Press | null = null;
  private readonly fingers = new Map<number, Point>();
  /** The last click: the first of two selects, which may move what lies under the second. */
  private clicked: (Point & { readonly at: number; readonly hit: Hit | null }) | null = null;
  private pinch: { readonly apart: number; readonly middle: number; readonly view: Span } | null =
    null;

  constructor(
    private readonly state: TimelineState,
    private readonly stage: HTMLElement,
    private readonly hitAt: HitAt,
    private readonly tags: () => readonly Tag[],
  ) {}

  /** Starts listening; returns what stops it. */
  listen(): () => void {
    const control = new AbortController();
    const { signal } = control;
    const on = <K extends keyof HTMLElementEventMap>(
      kind: K,
      act: (event: HTMLElementEventMap[K]) => void,
    ) => this.stage.addEventListener(kind, act, { signal, passive: false });
    on("wheel", (event) => this.onWheel(event));
    on("pointerdown", (event) => this.onDown(event));
    on("pointermove", (event) => this.onMove(event));
    on("pointerup", (event) => this.onUp(event));
    on("pointercancel", (event) => this.onUp(event));
    on("pointerleave", () => this.hover(null));
    return () => control.abort();
  }

  private hover(point: Point | null): void {
    this.stage.classList.toggle("on-tag", point !== null && this.tagAt(point) !== undefined);
    this.state.pointer.value = point;
  }

  /** The name of an arrow's end under a point. */
  private tagAt({ x, y }: Point): Tag | undefined {
    return this.tags().find(
      (tag) => x >= tag.x && x < tag.x + tag.width && y >= tag.y && y < tag.y + tag.height,
    );
  }

  private at(event: MouseEvent): Point {
    const box = this.stage.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  /** Ctrl or ⌘ (and a pinch on a touchpad, which comes as Ctrl) zooms; Shift or sideways pans. */
  private onWheel(event: WheelEvent): void {
    const { state } = this;
    const { width } = state.size.value;
    const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE_PX : 1;
    const view = state.view.value;
    const zooms = event.ctrlKey || event.metaKey || state.hand.value === "zoom";
    if (zooms) {
      event.preventDefault();
      const factor = WHEEL_STEP ** (event.deltaY * unit * (event.ctrlKey ? 1.6 : 1));
      state.view.value = zoomed(view, factor, this.at(event).x / width, state.whole);
      return;
    }
    const sideways = event.shiftKey && event.deltaX === 0 ? event.deltaY : event.deltaX;
    if (Math.abs(sideways) > Math.abs(event.deltaY) || event.shiftKey) {
      event.preventDefault();
      const by = (sideways * unit * (view.end - view.begin)) / width;
      state.view.value = panned(view, by, state.whole);
    }
    // What is left scrolls the list of tracks, as wheels do.
  }

  private onDown(event: PointerEvent): void {
    if (event.button > 1) return;
    const point = this.at(event);
    this.fingers.set(event.pointerId, point);
    this.stage.setPointerCapture(event.pointerId);
    if (this.fingers.size === 2) {
      this.startPinch();
      return;
    }
    const { state } = this;
    const chosen = event.button === 1 || event.pointerType === "touch" ? "pan" : state.hand.value;
    if (event.button === 1) event.preventDefault();
    this.press = {
      id: event.pointerId,
      x: point.x,
      y: point.y,
      view: state.view.value,
      scroll: state.scroll.value,
      hand: event.shiftKey && chosen === "pan" ? "select" : chosen,
      moved: false,
    };
  }

  private startPinch(): void {
    const [a, b] = [...this.fingers.values()] as [Point, Point];
    this.press = null;
    this.state.drawing.value = null;
    this.pinch = {
      apart: Math.max(10, Math.abs(a.x - b.x)),
      middle: (a.x + b.x) / 2,
      view: this.state.view.value,
    };
  }

  private onMove(event: PointerEvent): void {
    const point = this.at(event);
    if (this.fingers.has(event.pointerId)) this.fingers.set(event.pointerId, point);
    if (this.pinch && this.fingers.size === 2) {
      this.movePinch();
      return;
    }
    const { press } = this;
    if (!press || press.id !== event.pointerId) {
      this.hover(point);
      return;
    }
    if (!press.moved && Math.hypot(point.x - press.x, point.y - press.y) < CLICK_PX) return;
    press.moved = true;
    this.hover(null);
    this.drag(press, point);
  }

  private movePinch(): void {
    const { pinch, state } = this;
    if (!pinch) return;
    const [a, b] = [...this.fingers.values()] as [Point, Point];
    const { width } = state.size.value;
    const length = pinch.view.end - pinch.view.begin;
    const next = (length * pinch.apart) / Math.max(10, Math.abs(a.x - b.x));
    const held = pinch.view.begin + (pinch.middle / width) * length;
    const begin = held - ((a.x + b.x) / 2 / width) * next;
    state.view.value = clampSpan({ begin, end: begin + next }, state.whole);
  }

  private drag(press: Press, point: Point): void {
    const { state } = this;
    const { width } = state.size.value;
    const perPx = (press.view.end - press.view.begin) / width;
    if (press.hand === "pan") {
      state.view.value = panned(press.view, (press.x - point.x) * perPx, state.whole);
      const room = state.layout.value.height;
      state.scroll.value = Math.min(Math.max(0, press.scroll + press.y - point.y), room);
    } else if (press.hand === "zoom") {
      const factor = 2 ** ((point.y - press.y) / ZOOM_PX);
      state.view.value = zoomed(press.view, factor, press.x / width, state.whole);
    } else {
      const a = timeAt(state.screen.value, press.x);
      const b = timeAt(state.screen.value, Math.min(Math.max(0, point.x), width));
      state.drawing.value = { begin: Math.min(a, b), end: Math.max(a, b) };
    }
  }

  private onUp(event: PointerEvent): void {
    this.fingers.delete(event.pointerId);
    if (this.fingers.size < 2) this.pinch = null;
    const { press, state } = this;
    if (!press || press.id !== event.pointerId) return;
    this.press = null;
    const point = this.at(event);
    const drawn = state.drawing.value;
    state.drawing.value = null;
    if (event.type === "pointercancel") return;
    if (!press.moved) this.click(point, press.hand);
    else if (drawn && drawn.end > drawn.begin) this.finish(press, point, drawn);
  }

  private click(point: Point, hand: Press["hand"]): void {
    const { state } = this;
    if (this.isSecond(point)) {
      if (this.clicked?.hit) state.zoomTo(this.clicked.hit.span);
      this.clicked = null;
      return;
    }
    this.clicked = null;
    const tag = this.tagAt(point);
    if (tag) {
      state.go(tag.place);
      return;
    }
    const screen = state.screen.value;
    const time = timeAt(screen, point.x);
    if (hand === "timing") {
      state.marks.value = [...state.marks.value, Math.round(time)];
      return;
    }
    const row = rowAt(screen, point.y);
    const hit = row && this.hitAt(row, time);
    this.clicked = { ...point, at: performance.now(), hit };
    state.select(hit ? hit.event : null);
    if (!hit) state.chooseRange(null);
  }

  /** Whether a click follows another one at the same place at once; fingers tap as well. */
  private isSecond({ x, y }: Point): boolean {
    const { clicked } = this;
    if (!clicked || performance.now() - clicked.at > DOUBLE_MS) return false;
    return Math.hypot(x - clicked.x, y - clicked.y) < DOUBLE_PX;
  }

  private finish(press: Press, point: Point, drawn: Span): void {
    const { state } = this;
    const span = { begin: Math.round(drawn.begin), end: Math.round(drawn.end) };
    if (span.end <= span.begin) return;
    if (press.hand === "timing") {
      state.chooseRange({ span, tracks: null });
      return;
    }
    const [top, bottom] = [Math.min(press.y, point.y), Math.max(press.y, point.y)];
    const tracks = tracksBetween(state.screen.value, top, bottom);
    state.chooseRange({ span, tracks: tracks.length > 0 ? tracks : null });
  }
}
