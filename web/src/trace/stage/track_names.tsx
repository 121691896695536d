/** Names of sections and tracks beside the canvas, with what can be done to each. */

import { count } from "../../base/format.ts";
import { visible } from "../../base/text.ts";
import {
  type Band,
  LANE_PX,
  LANES_AT_FIRST,
  LEAST_LANE_PX,
  lanePx,
  SECTION_PX,
  TALLEST_LANE_PX,
  toggled,
} from "../../engine/timeline/arrangement.ts";
import { Popover } from "../../widgets/overlay/popover.tsx";
import type { TimelineState } from "../model/state.ts";
import { dragTrack } from "./reorder.ts";
import type { Timeline } from "./timeline.ts";

export function Gutter({ timeline }: { timeline: Timeline }) {
  const { state } = timeline;
  const screen = state.screen.value;
  const drop = state.dropping.value;
  const stuck = stuckSection(state.layout.value.bands, screen.scroll);
  return (
    <div class="tl-gutter">
      <div class="tl-gutter-part" style={{ height: `${screen.pinnedHeight}px` }}>
        {screen.pinned.map((band) => (
          <TrackName key={band.id} state={state} band={band} top={band.top} pinned />
        ))}
      </div>
      <div class="tl-gutter-part rest">
        {screen.bands.map((band) =>
          band.kind === "section" ? (
            <SectionName
              key={`s${band.id}`}
              state={state}
              band={band}
              top={band.top - screen.scroll}
            />
          ) : (
            <TrackName
              key={band.id}
              state={state}
              band={band}
              top={band.top - screen.scroll}
              coveredPx={stuck ? SECTION_PX : 0}
            />
          ),
        )}
        {stuck && <SectionName state={state} band={stuck.band} top={stuck.top} stuck />}
        {drop && <div class="tl-drop" style={{ top: `${drop.y - screen.scroll}px` }} />}
      </div>
    </div>
  );
}

/** The section whose tracks are on top while its own name is above them, out of sight. */
function stuckSection(bands: readonly Band[], scroll: number): { band: Band; top: number } | null {
  const sections = bands.filter(({ kind }) => kind === "section");
  const next = sections.findIndex(({ top }) => top >= scroll);
  const band = sections[(next < 0 ? sections.length : next) - 1];
  if (!band) return null;
  // The next section's name pushes it out.
  const room = next < 0 ? 0 : Math.min(0, (sections[next] as Band).top - scroll - SECTION_PX);
  return { band, top: room };
}

const NAME_PX = 20;

interface NameProps {
  readonly state: TimelineState;
  readonly band: Band;
  readonly top: number;
  /** It stands apart from its section, so it says which one that is. */
  readonly pinned?: boolean;
  /** Px at the top of the names that a section's name covers. */
  readonly coveredPx?: number;
  /** It stays in sight while its section does. */
  readonly stuck?: boolean;
}

function SectionName({ state, band, top, stuck = false }: NameProps) {
  const section = state.meta.sections[band.id];
  if (!section) return null;
  const closed = state.arranged.value.closedSections.has(band.id);
  const host = state.meta.hosts.length > 1 ? state.meta.hosts[section.host]?.name : "";
  const name = visible([section.name, host].filter(Boolean).join(" · "));
  return (
    <div
      class={stuck ? "tl-section stuck" : "tl-section"}
      style={{ top: `${top}px`, height: `${band.height}px` }}
    >
      <button
        type="button"
        class="tl-fold"
        aria-expanded={!closed}
        title={name}
        onClick={() =>
          state.change({ closedSections: toggled(state.arranged.value.closedSections, band.id) })
        }
      >
        <span class={`tl-arrow ${closed ? "" : "open"}`} aria-hidden="true" />
        <span class="tl-text">{name}</span>
      </button>
    </div>
  );
}

function TrackName({ state, band, top, pinned = false, coveredPx = 0 }: NameProps) {
  const track = state.meta.tracks[band.id];
  if (!track) return null;
  const { arranged } = state;
  const name = visible(track.name) || "(no name)";
  const section = state.meta.sections[track.section];
  const left = track.lanes - band.lanes;
  const deep = band.lanes > 1 || arranged.value.closed.has(band.id);
  return (
    <div
      class={`tl-track ${state.dropping.value?.moved === band.id ? "dragged" : ""}`}
      style={{
        top: `${top}px`,
        height: `${band.height}px`,
        // The name of a tall track stays in sight while the track is.
        paddingTop: `${Math.max(0, Math.min(coveredPx - top, band.height - NAME_PX))}px`,
      }}
      title={`${name} of ${visible(section?.name ?? "")}${track.derived ? ", derived from the recorded events" : ""}`}
    >
      {deep ? (
        <button
          type="button"
          class="tl-fold"
          aria-expanded={!arranged.value.closed.has(band.id)}
          aria-label={`Lanes of ${name}`}
          onClick={() => state.change({ closed: toggled(arranged.value.closed, band.id) })}
        >
          <span
            class={`tl-arrow ${arranged.value.closed.has(band.id) ? "" : "open"}`}
            aria-hidden="true"
          />
        </button>
      ) : (
        <span class="tl-fold" />
      )}
      {pinned && state.meta.sections.length > 1 && (
        <span class="tl-of quiet">{visible(section?.label ?? "")}</span>
      )}
      <span
        class={`tl-text grip ${track.derived ? "derived" : ""}`}
        onPointerDown={(event) => {
          const area = event.currentTarget.closest(".tl-gutter-part");
          if (area instanceof HTMLElement) dragTrack(state, band.id, event, area);
        }}
      >
        {name}
      </span>
      <TrackMenu
        state={state}
        id={band.id}
        name={name}
        up={top > state.size.value.height / 2 && !arranged.value.pinned.includes(band.id)}
      />
      {left > 0 && band.height > 2 * LANE_PX && (
        <button
          type="button"
          class="tl-more"
          onClick={() => state.change({ full: toggled(arranged.value.full, band.id) })}
        >
          {count(left)} more lanes
        </button>
      )}
      <Sash state={state} id={band.id} name={name} lanes={band.lanes} />
    </div>
  );
}

/** The track moved before the one above it, or below the one under it. */
function moveBy(state: TimelineState, id: number, by: 1 | -1): void {
  const bands = state.layout.value.bands.filter((band) => band.kind === "track");
  const at = bands.findIndex((band) => band.id === id);
  const other = bands[at + by];
  const section = state.meta.tracks[id]?.section;
  if (!other || state.meta.tracks[other.id]?.section !== section) return;
  const move: [number, number] = by < 0 ? [id, other.id] : [other.id, id];
  state.change({ moves: [...state.arranged.value.moves, move] });
}

interface TrackMenuProps {
  readonly state: TimelineState;
  readonly id: number;
  readonly name: string;
  /** Whether there is more room above than below. */
  readonly up: boolean;
}

function TrackMenu({ state, id, name, up }: TrackMenuProps) {
  const arranged = state.arranged.value;
  const track = state.meta.tracks[id];
  const pinned = arranged.pinned.includes(id);
  const item = (label: string, act: () => void, close: () => void) => (
    <button
      type="button"
      class="menu-item"
      onClick={() => {
        act();
        close();
      }}
    >
      {label}
    </button>
  );
  const pin = () =>
    state.change({
      pinned: pinned ? arranged.pinned.filter((each) => each !== id) : [...arranged.pinned, id],
    });
  const hide = () =>
    state.change({
      hidden: new Set([...arranged.hidden, id]),
      pinned: arranged.pinned.filter((each) => each !== id),
    });
  return (
    <Popover
      label={<span aria-hidden="true">⋮</span>}
      name={`Track ${name}`}
      class={`tl-menu ${up ? "up" : ""}`}
    >
      {(close) => (
        <div class="menu">
          {item(pinned ? "Unpin" : "Pin to the top", pin, close)}
          {item("Hide", hide, close)}
          {!pinned && item("Move up", () => moveBy(state, id, -1), close)}
          {!pinned && item("Move down", () => moveBy(state, id, 1), close)}
          {item("Increase height", () => resize(state, id, 1.5), close)}
          {item("Decrease height", () => resize(state, id, 1 / 1.5), close)}
          {(track?.lanes ?? 0) > LANES_AT_FIRST &&
            item(
              arranged.full.has(id) ? "Fewer lanes" : "All lanes",
              () => state.change({ full: toggled(arranged.full, id) }),
              close,
            )}
          {item(
            "Statistics of this track in view",
            () => state.chooseRange({ span: rounded(state), tracks: [id] }),
            close,
          )}
        </div>
      )}
    </Popover>
  );
}

function rounded(state: TimelineState): { begin: number; end: number } {
  const { begin, end } = state.view.value;
  return { begin: Math.floor(begin), end: Math.ceil(end) };
}

function setHeight(state: TimelineState, id: number, px: number): void {
  const next = Math.round(Math.min(TALLEST_LANE_PX, Math.max(LEAST_LANE_PX, px)));
  state.change({ heights: new Map([...state.arranged.value.heights, [id, next]]) });
}

function resize(state: TimelineState, id: number, factor: number): void {
  const track = state.meta.tracks[id];
  if (track) setHeight(state, id, lanePx(track, state.arranged.value) * factor);
}

interface SashProps {
  readonly state: TimelineState;
  readonly id: number;
  readonly name: string;
  readonly lanes: number;
}

/** The lower edge of a track, to make its lanes taller by mouse or keys. */
function Sash({ state, id, name, lanes }: SashProps) {
  const track = state.meta.tracks[id];
  if (!track) return null;
  const now = lanePx(track, state.arranged.value);
  const drag = (down: PointerEvent) => {
    const control = new AbortController();
    const { signal } = control;
    const move = (event: PointerEvent) =>
      setHeight(state, id, now + (event.clientY - down.clientY) / Math.max(1, lanes));
    window.addEventListener("pointermove", move, { signal });
    window.addEventListener("pointerup", () => control.abort(), { signal });
    down.preventDefault();
  };
  return (
    <div
      class="tl-sash"
      role="separator"
      tabIndex={-1}
      aria-orientation="horizontal"
      aria-label={`Height of ${name}`}
      aria-valuenow={Math.round(now)}
      aria-valuemin={LEAST_LANE_PX}
      aria-valuemax={TALLEST_LANE_PX}
      onPointerDown={drag}
      onKeyDown={(event) => {
        if (event.key === "ArrowDown") setHeight(state, id, now + 2);
        else if (event.key === "ArrowUp") setHeight(state, id, now - 2);
      }}
    />
  );
}
