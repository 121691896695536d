/** State, tiles, names and painter of one timeline, wired together. */

import { effect, signal, untracked } from "@preact/signals";
import { getDensity, type TimelineScope } from "../../api/timeline.ts";
import { visible } from "../../base/text.ts";
import type { Density, Span, TimelineMeta } from "../../base/timeline.ts";
import type { TimelineLink } from "../../engine/timeline/address.ts";
import { hitPlace } from "../../engine/timeline/hit_test.ts";
import {
  GroupIndex,
  rowAt,
  type Screen,
  timeAt,
  wantedTiles,
} from "../../engine/timeline/screen.ts";
import { groupLanes } from "../../engine/timeline/tile_grid.ts";
import { TileStore } from "../../engine/timeline/tile_store.ts";
import { NameStore } from "../model/names.ts";
import { type Size, TimelineState } from "../model/state.ts";
import { TileLoader } from "../model/tile_loader.ts";
import type { Tag } from "../paint/arrows.ts";
import { counterAt } from "../paint/counter.ts";
import { paintClosed, paintGround } from "../paint/ground.ts";
import { paintBeyond } from "../paint/off_screen.ts";
import type { Overlay } from "../paint/overlay.ts";
import { Painter } from "../paint/painter.ts";
import { Colouring, type Palette } from "../paint/palette.ts";

const SETTLED_MS = 250;
const DENSITY_COLUMNS = 600;
const DENSITY_RETRY_MS = 4000;
const MOST_DENSITY_COLUMNS = 2048;

/** The view's own columns where they are known and still cover it, else those of the whole trace. */
function finestOf(own: Density | null, whole: Density | null, { view }: Screen): Density | null {
  if (!own) return whole;
  const end = own.begin_ps + own.column_ps * own.columns;
  const covers = own.begin_ps <= view.begin + own.column_ps && end >= view.end - own.column_ps;
  return covers && own.column_ps < (whole?.column_ps ?? Number.POSITIVE_INFINITY) ? own : whole;
}

export class Timeline {
  readonly state: TimelineState;
  readonly loader: TileLoader;
  readonly names: NameStore;
  readonly painter: Painter;
  /** Grows when something arrived that changes the picture. */
  private readonly arrivals = signal(0);
  /** How busy each section is over the whole trace, once it is known. */
  readonly density = signal<Density | null>(null);
  /** The same over the view, where a section is closed. */
  private readonly viewDensity = signal<Density | null>(null);
  private viewDensityControl = new AbortController();
  private painted = false;
  /** Names of arrows' ends beyond the edges, as they were last painted. */
  tags: readonly Tag[] = [];
  private readonly control = new AbortController();
  private readonly stops: (() => void)[] = [];
  private readonly index: GroupIndex;

  constructor(
    readonly meta: TimelineMeta,
    readonly scope: TimelineScope,
    link: TimelineLink,
    private readonly onShown: () => void,
  ) {
    const arrived = () => {
      this.arrivals.value += 1;
    };
    const store = new TileStore();
    this.index = new GroupIndex(groupLanes(meta.tracks));
    this.state = new TimelineState(meta, scope, link);
    this.loader = new TileLoader(scope, meta, this.index.groups, store, arrived);
    this.names = new NameStore(scope, meta, this.control.signal, arrived);
    const units = meta.tracks.map((track) => track.unit);
    this.painter = new Painter(store, this.index, new Colouring(meta), this.names, units);
  }

  /** Asks for the tiles of a stage of this size, while the page around it is still to be built. */
  expect(size: Size): void {
    if (size.width < 1 || size.height < 1) return;
    this.state.size.value = size;
    this.wantTiles();
  }

  private wantTiles(): void {
    const screen = this.state.screen.peek();
    const groups = this.index.byGroup(screen.rows).keys();
    this.loader.want(wantedTiles(screen, groups));
  }

  /** Begins to ask the server for what the state needs; returns what ends it. */
  start(): () => void {
    const { state } = this;
    this.stops.push(
      effect(() => {
        if (state.screen.value.width >= 1) untracked(() => this.wantTiles());
      }),
      effect(() => {
        void state.event.value;
        untracked(() => void state.loadEvent());
      }),
      effect(() => {
        void state.range.value;
        untracked(() => void state.loadStatistics());
      }),
      effect(() => {
        void state.range.value;
        void state.flame.view.value;
        untracked(() => void state.flame.load());
      }),
      effect(() => {
        void state.range.value;
        void state.path.on.value;
        void state.event.value;
        untracked(() => void state.path.load());
      }),
      effect(() => {
        void state.sought.value;
        untracked(() => void state.search());
      }),
      this.keepInSight(),
      this.keepRangeInSight(),
      this.followHits(),
      this.measureHovered(),
      this.followDensity(),
      this.followArrows(),
    );
    void this.loadDensity();
    return () => this.stop();
  }

  private async loadDensity(): Promise<void> {
    const { signal } = this.control;
    while (!signal.aborted && this.density.value === null) {
      try {
        this.density.value = await getDensity(this.scope, DENSITY_COLUMNS, signal);
      } catch {
        // Tiles tell what is wrong; the overview only has to come back.
        await new Promise((resolve) => window.setTimeout(resolve, DENSITY_RETRY_MS));
      }
    }
  }

  /** The panel that tells of an event must not cover it. */
  private keepInSight(): () => void {
    const { state } = this;
    return effect(() => {
      const details = state.details.value.value;
      const { height } = state.size.value;
      if (!details || height === 0 || state.event.peek() !== details.event) return;
      untracked(() => state.scrollTo(details.track, details.lane));
    });
  }

  /** Nor the tracks of a range, of which the first is shown where not all have the room. */
  private keepRangeInSight(): () => void {
    const { state } = this;
    return effect(() => {
      const tracks = state.range.value?.tracks;
      const { height } = state.size.value;
      if (!tracks || height === 0) return;
      untracked(() => {
        const shown = state.layout.value.bands.filter(
          (band) => band.kind === "track" && tracks.includes(band.id),
        );
        const last = shown.at(-1);
        if (last) state.scrollTo(last.id, last.lanes - 1);
        if (shown[0]) state.scrollTo(shown[0].id, 0);
      });
    });
  }

  private followArrows(): () => void {
    let timer = 0;
    return effect(() => {
      void this.state.screen.value;
      void this.state.allArrows.value;
      window.clearTimeout(timer);
      timer = window.setTimeout(() => void this.state.loadViewFlows(), SETTLED_MS);
    });
  }

  /** The length of an event that the view cuts, once the pointer rests on it. */
  private measureHovered(): () => void {
    let timer = 0;
    let last = -1;
    return effect(() => {
      const hit = this.state.hover.value?.hit;
      const id = hit?.cut && hit.count === 1 ? hit.event : -1;
      if (id === last) return;
      last = id;
      window.clearTimeout(timer);
      if (id >= 0) timer = window.setTimeout(() => void this.state.loadExact(id), SETTLED_MS);
    });
  }

  /** Hits that are in view, for the overlay: the answer for the whole trace lists a few only. */
  private followHits(): () => void {
    let timer = 0;
    return effect(() => {
      void this.state.screen.value;
      void this.state.sought.value;
      window.clearTimeout(timer);
      timer = window.setTimeout(() => void this.state.loadViewHits(), SETTLED_MS);
    });
  }

  /** How busy closed sections are in the view: columns of the whole trace are too coarse for it. */
  private followDensity(): () => void {
    const { state } = this;
    let timer = 0;
    return effect(() => {
      const { view, width } = state.screen.value;
      const closed = state.arranged.value.closedSections.size > 0;
      window.clearTimeout(timer);
      if (!closed || width < 1) return;
      timer = window.setTimeout(() => void this.loadViewDensity(view, width), SETTLED_MS);
    });
  }

  private async loadViewDensity(view: Span, width: number): Promise<void> {
    this.viewDensityControl.abort();
    this.viewDensityControl = new AbortController();
    const { signal } = this.viewDensityControl;
    const columns = Math.min(MOST_DENSITY_COLUMNS, Math.max(1, Math.round(width)));
    const span = { start_ps: Math.floor(view.begin), end_ps: Math.ceil(view.end) };
    try {
      this.viewDensity.value = await getDensity(this.scope, columns, signal, span);
    } catch {
      // The columns of the whole trace are in; tiles tell what is wrong.
    }
  }

  private stop(): void {
    this.viewDensityControl.abort();
    for (const stop of this.stops) stop();
    this.loader.stop();
    this.state.stop();
    this.control.abort();
  }

  /** Reads every signal the picture depends on, for the effect that paints. */
  watch(): void {
    const { state } = this;
    for (const each of [
      state.screen,
      state.colours,
      state.pointer,
      state.drawing,
      this.density,
      this.viewDensity,
      state.viewHits,
      state.range,
      state.path.answer,
      state.marks,
      state.details,
      state.found,
      state.flows,
      state.viewFlows,
      this.arrivals,
    ]) {
      void each.value;
    }
  }

  paint(context: CanvasRenderingContext2D, dpr: number, palette: Palette): void {
    const { state } = this;
    const screen = state.screen.peek();
    const colours = state.colours.peek();
    const density = finestOf(this.viewDensity.peek(), this.density.peek(), screen);
    const closed = state.arranged.peek().closedSections;
    paintGround(context, screen, dpr, palette);
    if (density) paintClosed(context, screen, closed, density, palette);
    paintBeyond(context, screen, this.meta.tracks, palette);
    const { whole } = this.painter.paint(context, screen, dpr, palette, colours);
    if (whole && !this.painted) {
      this.painted = true;
      performance.mark("timeline-painted");
      this.onShown();
    }
  }

  /** Looks up what is under the pointer in what was just painted. */
  look(): void {
    const { state } = this;
    const point = state.pointer.peek();
    if (!point) {
      state.hover.value = null;
      return;
    }
    const screen = state.screen.peek();
    const time = timeAt(screen, point.x);
    const row = rowAt(screen, point.y);
    const hit = row && !row.counter ? this.painter.hit(row, time) : null;
    const value = row?.counter ? counterAt(this.painter.drawnFor(row), row.track, time) : null;
    state.hover.value = {
      ...point,
      time,
      hit,
      name: hit && this.names.text(hit.name),
      counter: row && value !== null ? { track: row.track, value } : null,
    };
  }

  overlay(): Overlay {
    const { state } = this;
    const hover = state.hover.peek();
    const details = state.event.peek() === null ? null : state.details.peek().value;
    return {
      selected: details,
      hovered: hover?.hit ? hitPlace(hover.hit) : null,
      hits: state.viewHits.peek()?.places ?? state.found.peek().value?.first ?? [],
      // Where not all hits are known, a veil would tell that the others are none.
      isDimmed: state.viewHits.peek()?.all ?? false,
      range: state.range.peek()?.span ?? null,
      rangeTracks: state.range.peek()?.tracks ?? null,
      drawing: state.drawing.peek(),
      path: state.path.answer.peek().value?.pieces ?? null,
      marks: state.marks.peek(),
      cursor: hover ? hover.time : null,
      arrows: state.flows.peek(),
      quietArrows: state.viewFlows.peek()?.arrows ?? [],
      trackName: (track) => visible(this.meta.tracks[track]?.name ?? ""),
    };
  }
}
