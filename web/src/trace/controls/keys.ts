/** The keys of the timeline; the help is drawn from the same lists. */

import { HANDS } from "../../engine/timeline/address.ts";
import { panned, zoomed } from "../../engine/timeline/viewport.ts";
import type { TimelineState } from "../model/state.ts";

export const KEY_HELP: readonly (readonly [string, string])[] = [
  ["W S", "Zoom in and out, at the pointer"],
  ["A D", "Move left and right"],
  ["Shift ← →", "The same; no Shift needed when nothing is selected"],
  ["← →", "Previous and next event on the lane"],
  ["↑ ↓", "Parent event, first child; otherwise scroll"],
  ["1 2 3 4", "Drag mode: select, pan, zoom, measure"],
  ["0", "Whole trace"],
  ["F", "Zoom to the selected event or range"],
  ["M", "Statistics for the time of the selected event"],
  ["T", "Set a mark at the pointer"],
  ["/", "Search; Enter or N: next hit, with Shift: previous"],
  ["[ ]", "Previous and next event with this name on the track"],
  ["J", "Go to a step by its number"],
  ["E", "All arrows in view"],
  ["Esc", "Clear selection; again: close search"],
  ["?", "This help"],
];

export const HAND_HELP: readonly (readonly [string, string])[] = [
  ["Wheel", "Scroll; with Ctrl or ⌘ zoom, with Shift move sideways"],
  ["Pinch", "Zoom"],
  ["Select, click", "Details of an event; double-click: zoom to event"],
  ["Select, drag", "Statistics for the time and tracks in the box"],
  ["Pan, drag", "Move; also with the middle button or one finger"],
  ["Zoom, drag", "Drag up to zoom in, down to zoom out"],
  ["Measure, drag", "Measure a time span; click: set a mark"],
  ["Name at an edge, click", "Go to the arrow's other end, off screen"],
  ["Name of a track, drag", "Move it within its section; drag its lower edge to resize"],
  ["Overview, drag", "Choose the visible range; drag an edge to change one end"],
];

/** What keys do beyond the state: parts of the page that can be opened or focused. */
export interface KeyActions {
  help(): void;
  search(): void;
  goToStep(): void;
}

const SPEED_PER_S = 1.6;
const SCROLL_PX = 60;

type Held = "w" | "a" | "s" | "d" | "ArrowLeft" | "ArrowRight";
const HELD: ReadonlySet<string> = new Set(["w", "a", "s", "d"]);

/** Elements that use keys themselves. */
const OWN_KEYS =
  "input, select, textarea, dialog, [role=grid], [role=listbox], [role=separator], [role=slider]";

/** Elements that read their values by the arrows: tables, tools, flames and tracks of queries. */
const OWN_ARROWS = "table, [role=toolbar], [role=group][tabindex]";

/** What takes the keys for itself while it is open, wherever the focus is. */
const OVERLAYS = "dialog[open], .popover-panel";

export class Keys {
  private readonly held = new Set<Held>();
  private last = 0;
  private frame = 0;
  /** Until when the next key is the shell's: "g" and a letter go to another page. */
  private passUntil = 0;

  constructor(
    private readonly state: TimelineState,
    private readonly actions: KeyActions,
  ) {}

  /** Listens before the shell does, whose keys would mean something else here. */
  listen(): () => void {
    const control = new AbortController();
    const options = { capture: true, signal: control.signal };
    window.addEventListener("keydown", (event) => this.onDown(event), options);
    window.addEventListener("keyup", (event) => this.onUp(event), options);
    window.addEventListener("blur", () => this.held.clear(), options);
    return () => {
      control.abort();
      cancelAnimationFrame(this.frame);
    };
  }

  private onDown(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target instanceof Element ? event.target : null;
    if (target?.closest(OWN_KEYS) || document.querySelector(OVERLAYS)) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const passed = performance.now() < this.passUntil;
    this.passUntil = key === "g" && !passed ? performance.now() + 1500 : 0;
    if (passed || key === "g") return;
    if (event.key.startsWith("Arrow")) {
      if (target?.closest(OWN_ARROWS)) return;
      this.arrow(event);
    } else if (HELD.has(key)) this.hold(key as Held);
    else if (!this.press(key, event.shiftKey)) return;
    event.preventDefault();
    event.stopPropagation();
  }

  private onUp(event: KeyboardEvent): void {
    this.held.delete((event.key.length === 1 ? event.key.toLowerCase() : event.key) as Held);
    if (event.key === "Shift") {
      this.held.delete("ArrowLeft");
      this.held.delete("ArrowRight");
    }
  }

  /** What one press does; false for keys that mean nothing here. */
  private press(key: string, shift: boolean): boolean {
    const { state, actions } = this;
    const hand = HANDS[Number(key) - 1];
    if (hand) state.hand.value = hand;
    else if (key === "0") state.fit();
    else if (key === "f") this.zoomToSelection();
    else if (key === "m") this.rangeOfSelection();
    else if (key === "t") this.mark();
    else if (key === "n") void state.step(shift ? -1 : 1);
    else if (key === "/") actions.search();
    else if (key === "j") actions.goToStep();
    else if (key === "?") actions.help();
    else if (key === "e") state.allArrows.value = !state.allArrows.value;
    else if (key === "[" || key === "]") this.occurrence(key === "]" ? "next" : "previous");
    else if (key === "Escape") return state.letGo();
    else return false;
    return true;
  }

  private arrow(event: KeyboardEvent): void {
    const { state } = this;
    const sideways = event.key === "ArrowLeft" || event.key === "ArrowRight";
    if (sideways && (event.shiftKey || state.event.value === null)) {
      this.hold(event.key as Held);
    } else if (sideways) {
      void state.neighbour(event.key === "ArrowRight" ? 1 : -1);
    } else if (state.event.value !== null && !event.shiftKey) {
      const details = state.details.value.value;
      const goal = event.key === "ArrowUp" ? details?.parent : details?.children.first[0];
      if (goal) state.go(goal);
      else if (details) {
        state.said.value =
          event.key === "ArrowUp" ? "This event has no parent." : "This event has no children.";
      }
    } else {
      state.scrollBy(event.key === "ArrowDown" ? SCROLL_PX : -SCROLL_PX);
    }
  }

  private zoomToSelection(): void {
    const { state } = this;
    const details = state.details.value.value;
    if (state.event.value !== null && details) {
      state.go(details);
      state.zoomTo({ begin: details.begin_ps, end: details.end_ps });
    } else if (state.range.value) state.zoomTo(state.range.value.span);
  }

  private rangeOfSelection(): void {
    const details = this.state.details.value.value;
    if (this.state.event.value === null || !details) return;
    const span = { begin: details.begin_ps, end: Math.max(details.end_ps, details.begin_ps + 1) };
    this.state.chooseRange({ span, tracks: null });
  }

  private mark(): void {
    const { state } = this;
    const { begin, end } = state.view.value;
    const time = Math.round(state.hover.value?.time ?? (begin + end) / 2);
    state.marks.value = [...state.marks.value, time];
  }

  private occurrence(side: "next" | "previous"): void {
    const id = this.state.details.value.value?.occurrences[side] ?? -1;
    if (id >= 0) void this.state.goToEvent(id);
    else this.state.said.value = "No more events with this name on the track.";
  }

  private hold(key: Held): void {
    if (this.held.has(key)) return;
    this.held.add(key);
    this.last = performance.now();
    cancelAnimationFrame(this.frame);
    // A short press must move, too.
    this.move(0.06);
    this.frame = requestAnimationFrame((now) => this.run(now));
  }

  private run(now: number): void {
    if (this.held.size === 0) return;
    this.move(Math.min(0.1, Math.max(0, now - this.last) / 1000));
    this.last = now;
    this.frame = requestAnimationFrame((next) => this.run(next));
  }

  private move(seconds: number): void {
    const { state } = this;
    const view = state.view.value;
    const { width } = state.size.value;
    const way = (plus: boolean, minus: boolean) => Number(plus) - Number(minus);
    const { held } = this;
    const zoom = way(held.has("s"), held.has("w"));
    const pan = way(
      held.has("d") || held.has("ArrowRight"),
      held.has("a") || held.has("ArrowLeft"),
    );
    const at = state.hover.value && width > 0 ? state.hover.value.x / width : 0.5;
    const near =
      zoom === 0 ? view : zoomed(view, 4 ** (zoom * seconds * SPEED_PER_S), at, state.whole);
    const by = pan * seconds * SPEED_PER_S * 0.6 * (near.end - near.begin);
    state.view.value = pan === 0 ? near : panned(near, by, state.whole);
  }
}
