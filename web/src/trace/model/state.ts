/** Everything a timeline page shows, as signals; the address is made from it and read into it. */

import { batch, computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { getEvent, getFlows, getRange, getSearch, type TimelineScope } from "../../api/timeline.ts";
import type {
  EventDetails,
  FlowArrow,
  Place,
  RangeAnswer,
  SearchAnswer,
  Span,
  TimelineMeta,
} from "../../base/timeline.ts";
import {
  arrangedFor,
  type Bookmark,
  type ColourMode,
  type Hand,
  type SecondRun,
  type Sought,
  type TimelineLink,
} from "../../engine/timeline/address.ts";
import {
  type Arrangement,
  arrange,
  type Layout,
  toggled,
} from "../../engine/timeline/arrangement.ts";
import type { Hit } from "../../engine/timeline/hit_test.ts";
import { allOf, opening } from "../../engine/timeline/opening.ts";
import type { Drop } from "../../engine/timeline/reorder.ts";
import { type Screen, screenOf } from "../../engine/timeline/screen.ts";
import { clampSpan, framed, revealing } from "../../engine/timeline/viewport.ts";
import type { Asked, Range } from "./asked.ts";
import { FlameState } from "./flame_state.ts";
import { neighbourOf } from "./neighbours.ts";
import { PathState } from "./path_state.ts";
import { troubleOf } from "./tile_loader.ts";

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** What lies under the pointer. */
export interface Hover {
  readonly x: number;
  readonly y: number;
  readonly time: number;
  readonly hit: Hit | null;
  /** Name of the hit; null while it is on its way. */
  readonly name: string | null;
  /** Value of a counter there. */
  readonly counter: { readonly track: number; readonly value: number } | null;
}

/** What is left above or below a lane that was scrolled to. */
const AIR_PX = 40;

/** Outlines that a screen can hold and a person tell apart. */
const MOST_HITS = 1000;

const NOT_ASKED = { value: null, waiting: false, problem: "" } as const;

export type Panel = "event" | "range" | "search" | "none";

/** What an address tells to look at: one thing, the most particular. */
function panelOf(link: TimelineLink): Panel {
  if (link.event !== null) return "event";
  if (link.sought.text) return "search";
  return link.range ? "range" : "none";
}

/** Names of the address whose values are those of signals, one by one. */
type Kept = Exclude<keyof TimelineLink, "view" | "range" | "rangeTracks" | "at">;

export class TimelineState {
  readonly whole: Span;
  /** What it shows before anybody moves it. */
  private readonly opened: Span;
  readonly view;
  readonly scroll;
  readonly size = signal<Size>({ width: 0, height: 0 });
  readonly arranged;
  readonly colours;
  readonly hand;
  readonly marks;
  readonly notes;
  readonly bookmarks;
  readonly logCounters;
  readonly range;
  readonly flame: FlameState;
  readonly path: PathState;
  /** Run that is shown below this one. */
  readonly second;
  /** Where the cursor of the other timeline is on this one's axis. */
  readonly guest = signal<number | null>(null);
  readonly event;
  readonly sought;
  readonly allArrows;
  /** Where the pointer is on the stage. */
  readonly pointer = signal<{ readonly x: number; readonly y: number } | null>(null);
  /** What was under it when the stage was last painted. */
  readonly hover = signal<Hover | null>(null);
  /** Exact times of events that reach beyond the view, by id, as far as they were pointed at. */
  readonly exact = signal<ReadonlyMap<number, Span>>(new Map());
  /** A box or interval that is being drawn by hand. */
  readonly drawing = signal<Span | null>(null);
  /** Where a track that is being dragged would go. */
  readonly dropping = signal<Drop | null>(null);
  readonly panel = signal<Panel>("none");
  readonly details = signal<Asked<EventDetails>>(NOT_ASKED);
  readonly statistics = signal<Asked<RangeAnswer>>(NOT_ASKED);
  readonly found = signal<Asked<SearchAnswer>>(NOT_ASKED);
  /** Hits that are in view, and whether these are all of them; null until they are known. */
  readonly viewHits = signal<{ readonly places: readonly Place[]; readonly all: boolean } | null>(
    null,
  );
  readonly flows = signal<readonly FlowArrow[]>([]);
  readonly viewFlows = signal<{ count: number; arrows: readonly FlowArrow[] } | null>(null);
  /** Said to readers of the screen. */
  readonly said = signal("");
  readonly layout: ReadonlySignal<Layout>;
  readonly screen: ReadonlySignal<Screen>;
  /** What stands in the address as it is here. */
  private readonly kept: { readonly [Name in Kept]: Signal<TimelineLink[Name]> };
  private readonly asking = new Map<string, AbortController>();

  constructor(
    readonly meta: TimelineMeta,
    readonly scope: TimelineScope,
    link: TimelineLink,
  ) {
    this.whole = { begin: meta.begin_ps, end: Math.max(meta.end_ps, meta.begin_ps + 1) };
    this.opened = opening(meta, this.whole);
    this.view = signal<Span>(this.asked(link));
    this.scroll = signal(link.scroll);
    this.arranged = signal(arrangedFor(link, meta, this.view.value));
    this.colours = signal<ColourMode>(link.colours);
    this.hand = signal<Hand>(link.hand);
    this.marks = signal<readonly number[]>(link.marks);
    this.notes = signal<ReadonlyMap<number, string>>(link.notes);
    this.bookmarks = signal<readonly Bookmark[]>(link.bookmarks);
    this.logCounters = signal(link.logCounters);
    this.range = signal<Range | null>(link.range && { span: link.range, tracks: link.rangeTracks });
    this.flame = new FlameState(scope, this.range, link.flame);
    this.event = signal<number | null>(link.event);
    this.second = signal<SecondRun | null>(link.second);
    this.path = new PathState(meta, scope, this.range, this.event, link.path);
    this.sought = signal<Sought>(link.sought);
    this.allArrows = signal(link.arrows);
    this.layout = computed(() => {
      const arranged = this.arranged.value;
      // Without the wish for it the layout does not depend on the view, and is not made again.
      return arrange(meta, arranged, arranged.busyOnly ? this.view.value : null);
    });
    this.screen = computed(() => {
      const { width, height } = this.size.value;
      const scroll = this.scroll.value;
      return screenOf(this.layout.value, meta.tracks, this.view.value, width, height, scroll);
    });
    const { scroll, arranged, colours, hand, marks, notes, bookmarks, logCounters } = this;
    const { second, event, sought, allArrows: arrows } = this;
    this.kept = {
      ...{ scroll, arranged, colours, hand, marks, notes, bookmarks, logCounters },
      ...{ second, event, sought, arrows, flame: this.flame.view, path: this.path.on },
    };
    this.panel.value = panelOf(link);
    this.scrollToSection(link.at);
  }

  /** The view of an address; one without a view opens as the page does. */
  private asked(link: TimelineLink): Span {
    return link.view ? clampSpan(link.view, this.whole) : this.opened;
  }

  /** What the address is made from. */
  link(): TimelineLink {
    const range = this.range.value;
    const view = this.view.value;
    const isOpened = view.begin === this.opened.begin && view.end === this.opened.end;
    const kept = Object.entries(this.kept).map(([name, { value }]) => [name, value] as const);
    return {
      ...(Object.fromEntries(kept) as Pick<TimelineLink, Kept>),
      view: isOpened ? null : view,
      range: range?.span ?? null,
      rangeTracks: range?.tracks ?? null,
      at: null,
    };
  }

  /** Follows an address that was changed elsewhere: a link, or back and forward. */
  follow(link: TimelineLink): void {
    batch(() => {
      this.view.value = this.asked(link);
      for (const [name, kept] of Object.entries(this.kept)) {
        (kept as Signal<unknown>).value = link[name as Kept];
      }
      this.range.value = link.range && { span: link.range, tracks: link.rangeTracks };
      this.panel.value = panelOf(link);
      this.scrollToSection(link.at);
    });
  }

  /** Opens a section and scrolls it to the top. */
  scrollToSection(id: number | null): void {
    if (id === null) return;
    const closed = this.arranged.peek().closedSections;
    if (closed.has(id)) this.change({ closedSections: toggled(closed, id) });
    const band = this.layout.peek().bands.find((each) => each.kind === "section" && each.id === id);
    if (band) this.scroll.value = band.top;
  }

  change(part: Partial<Arrangement>): void {
    this.arranged.value = { ...this.arranged.value, ...part };
  }

  fit(): void {
    this.view.value = allOf(this.whole);
  }

  zoomTo(span: Span): void {
    this.view.value = framed(span, this.whole);
  }

  select(event: number | null): void {
    batch(() => {
      this.event.value = event;
      if (event !== null) this.panel.value = "event";
      else if (this.panel.value === "event") this.panel.value = "none";
    });
  }

  chooseRange(range: Range | null): void {
    batch(() => {
      this.range.value = range;
      if (range) this.panel.value = "range";
      else if (this.panel.value === "range") this.panel.value = "none";
    });
  }

  /** Ends what was selected, or else the search; whether there was either. */
  letGo(): boolean {
    const selected = this.event.value !== null || this.range.value !== null;
    const ended = selected || this.sought.value.text !== "";
    batch(() => {
      if (!selected) this.sought.value = { ...this.sought.value, text: "" };
      this.select(null);
      this.chooseRange(null);
    });
    return ended;
  }

  /** Selects an event and moves as little as needed for it to be seen. */
  go(place: Place): void {
    batch(() => {
      this.select(place.event);
      this.view.value = revealing(
        this.view.value,
        { begin: place.begin_ps, end: place.end_ps },
        this.whole,
      );
      this.showTrack(place.track, place.lane);
    });
  }

  /** Opens and scrolls to a lane. */
  showTrack(track: number, lane: number): void {
    const info = this.meta.tracks[track];
    if (!info) return;
    const now = this.arranged.value;
    const without = (set: ReadonlySet<number>, id: number) =>
      set.has(id) ? new Set([...set].filter((each) => each !== id)) : set;
    this.change({
      hidden: without(now.hidden, track),
      closed: lane > 0 ? without(now.closed, track) : now.closed,
      closedSections: now.pinned.includes(track)
        ? now.closedSections
        : without(now.closedSections, info.section),
    });
    const band = () =>
      this.layout.value.bands.find((each) => each.kind === "track" && each.id === track);
    if (!band() && !now.pinned.includes(track)) this.change({ filter: "", busyOnly: false });
    if (lane >= (band()?.lanes ?? Number.POSITIVE_INFINITY)) {
      this.change({ full: new Set([...this.arranged.value.full, track]) });
    }
    this.scrollTo(track, lane);
  }

  /** Shows a moment of a track, marked; moves the view as little as needed. */
  showTime(track: number, time: number): void {
    const moment = { begin: time, end: time + 1 };
    batch(() => {
      this.view.value = revealing(this.view.value, moment, this.whole);
      if (!this.marks.value.includes(time)) this.marks.value = [...this.marks.value, time];
      this.showTrack(track, 0);
    });
  }

  /** Scrolls as little as needed for a lane to be seen, if it is among those that scroll. */
  scrollTo(track: number, lane: number): void {
    const { bands, pinnedHeight } = this.layout.value;
    const band = bands.find((each) => each.kind === "track" && each.id === track);
    if (!band) return;
    const top = band.top + Math.min(lane, band.lanes - 1) * band.lanePx;
    const room = this.size.value.height - pinnedHeight;
    const bottom = top + band.lanePx;
    if (top < this.scroll.value) this.scroll.value = Math.max(0, top - AIR_PX);
    else if (bottom > this.scroll.value + room) this.scroll.value = bottom - room + AIR_PX;
  }

  /** Asks, giving up the last question of the same kind. */
  private async ask<T>(
    kind: string,
    into: { value: Asked<T> },
    question: (signal: AbortSignal) => Promise<T>,
  ): Promise<T | null> {
    this.asking.get(kind)?.abort();
    const control = new AbortController();
    this.asking.set(kind, control);
    into.value = { value: into.value.value, waiting: true, problem: "" };
    try {
      const value = await question(control.signal);
      if (control.signal.aborted) return null;
      into.value = { value, waiting: false, problem: "" };
      return value;
    } catch (error) {
      if (control.signal.aborted) return null;
      into.value = { value: null, waiting: false, problem: troubleOf(error).what };
      return null;
    }
  }

  /** Details and flows of the selected event. */
  async loadEvent(): Promise<void> {
    const id = this.event.value;
    if (id === null) {
      this.asking.get("event")?.abort();
      this.details.value = NOT_ASKED;
      this.flows.value = [];
      return;
    }
    await this.ask("event", this.details, async (signal) => {
      const [details, flows] = await Promise.all([
        getEvent(this.scope, id, signal),
        getFlows(this.scope, { id, depth: 3 }, signal),
      ]);
      this.flows.value = flows.arrows;
      return details;
    });
  }

  /** Asks how long an event is of which only a part is in view. */
  async loadExact(id: number): Promise<void> {
    if (this.exact.value.has(id)) return;
    const side: { value: Asked<EventDetails> } = { value: NOT_ASKED };
    const found = await this.ask("exact", side, (signal) => getEvent(this.scope, id, signal));
    if (!found) return;
    const span = { begin: found.begin_ps, end: found.end_ps };
    this.exact.value = new Map([...this.exact.value, [id, span]]);
  }

  async loadStatistics(): Promise<void> {
    const range = this.range.value;
    if (!range) {
      this.asking.get("range")?.abort();
      this.statistics.value = NOT_ASKED;
      return;
    }
    await this.ask("range", this.statistics, (signal) =>
      getRange(
        this.scope,
        {
          start_ps: Math.round(range.span.begin),
          end_ps: Math.max(Math.round(range.span.end), Math.round(range.span.begin) + 1),
          tracks: range.tracks?.join(",") ?? "",
          limit: 200,
        },
        signal,
      ),
    );
  }

  /** Hits in the whole trace, and how they spread over it. */
  async search(): Promise<void> {
    if (!this.sought.value.text) {
      this.asking.get("search")?.abort();
      this.found.value = NOT_ASKED;
      return;
    }
    await this.ask("search", this.found, (signal) => this.askSearch({ limit: 200 }, signal));
  }

  /** Hits to light in the view. */
  async loadViewHits(): Promise<void> {
    if (!this.sought.value.text || this.size.value.width < 1) {
      this.asking.get("hits")?.abort();
      this.viewHits.value = null;
      return;
    }
    const view = { begin: Math.floor(this.view.value.begin), end: Math.ceil(this.view.value.end) };
    const side: { value: Asked<SearchAnswer> } = { value: NOT_ASKED };
    // Hits that began before the view may reach into it.
    const from_ps = view.begin - 2 * (view.end - view.begin);
    const question = { limit: MOST_HITS, columns: 1, from_ps };
    const answer = await this.ask("hits", side, (signal) => this.askSearch(question, signal, view));
    if (!answer) return;
    const { first: places } = answer;
    const last = places.at(-1)?.begin_ps ?? 0;
    this.viewHits.value = { places, all: places.length < MOST_HITS || last >= view.end };
  }

  private askSearch(
    more: Readonly<Record<string, number>>,
    signal: AbortSignal,
    { begin, end }: Span = this.whole,
  ): Promise<SearchAnswer> {
    const { text, regex, stat } = this.sought.value;
    const question = { q: text, mode: regex ? "regex" : "substring", stat };
    return getSearch(
      this.scope,
      { ...question, start_ps: begin, end_ps: end, columns: 1024, ...more },
      signal,
    );
  }

  /** Goes to the hit after or before the selected event, else the middle of the view. */
  async step(direction: 1 | -1): Promise<void> {
    if (!this.sought.value.text) return;
    const at = this.details.value.value;
    const here = at
      ? { at_ps: at.begin_ps, at_event: at.event }
      : { at_ps: Math.round(this.view.value.begin) };
    const side: { value: Asked<SearchAnswer> } = { value: NOT_ASKED };
    const answer = await this.ask("step", side, (signal) =>
      this.askSearch({ limit: 1, columns: 1, ...here }, signal),
    );
    if (!answer) return;
    const next = direction > 0 ? answer.next : answer.previous;
    if (next) this.go(next);
    else this.said.value = direction > 0 ? "No hit after this one." : "No hit before this one.";
  }

  /** Selects an event known by its id alone. */
  async goToEvent(id: number): Promise<void> {
    this.select(id);
    await this.loadEvent();
    const place = this.details.value.value;
    if (place?.event === id) this.go(place);
  }

  /** Goes to the event before or after the selected one on its lane. */
  async neighbour(direction: 1 | -1): Promise<void> {
    const place = this.details.value.value;
    if (!place) return;
    const side: { value: Asked<number | null> } = { value: NOT_ASKED };
    const id = await this.ask("neighbour", side, (signal) =>
      neighbourOf(this.scope, place, direction, this.whole, signal),
    );
    if (id !== null) await this.goToEvent(id);
    else if (side.value.problem === "") {
      this.said.value =
        direction > 0
          ? "No event after this one on the lane."
          : "No event before this one on the lane.";
    }
  }

  scrollBy(px: number): void {
    const { height } = this.size.value;
    const room = this.layout.value.height + this.layout.value.pinnedHeight - height;
    this.scroll.value = Math.min(Math.max(0, this.scroll.value + px), Math.max(0, room));
  }

  /** Arrows that begin in the view, on the tracks that are shown. */
  async loadViewFlows(): Promise<void> {
    if (!this.allArrows.value) {
      this.viewFlows.value = null;
      return;
    }
    const tracks = [...new Set(this.screen.value.rows.map((row) => row.track))].join(",");
    const { begin, end } = this.view.value;
    if (!tracks) return;
    const side: { value: Asked<unknown> } = { value: NOT_ASKED };
    await this.ask("flows", side, async (signal) => {
      const question = { start_ps: Math.floor(begin), end_ps: Math.ceil(end), tracks };
      this.viewFlows.value = await getFlows(this.scope, question, signal);
    });
  }

  stop(): void {
    this.flame.stop();
    this.path.stop();
    for (const control of this.asking.values()) control.abort();
  }
}
