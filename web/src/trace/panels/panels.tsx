/** Below the tracks: the selected event, the statistics of a range, or the hits of a search. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { recall, remember } from "../../base/storage.ts";
import type { Span } from "../../base/timeline.ts";
import type { Panel } from "../model/state.ts";
import type { Timeline } from "../stage/timeline.ts";
import { EventPanel } from "./event_panel.tsx";
import { RangePanel } from "./range_panel.tsx";
import { SearchPanel } from "./search_panel.tsx";

const TITLES: readonly (readonly [Exclude<Panel, "none">, string])[] = [
  ["event", "Event"],
  ["range", "Range"],
  ["search", "Hits"],
];
const LEAST_PX = 90;
const FIRST_PX = 240;
const KEPT = "timeline.panel";

interface PanelsProps {
  readonly timeline: Timeline;
  /** Ids of all runs there are. */
  readonly runs: readonly string[];
  readonly onSelectRange: (span: Span) => void;
  /** All that the recording says of what an event is called. */
  readonly about: (name: string) => ComponentChildren;
}

export function Panels({ timeline, runs, onSelectRange, about }: PanelsProps) {
  const { state } = timeline;
  const [height, setHeight] = useState(Number(recall(KEPT)) || FIRST_PX);
  const panel = state.panel.value;
  const usable = {
    event: state.event.value !== null,
    range: state.range.value !== null,
    search: state.sought.value.text !== "",
  };
  const first = TITLES.find(([id]) => usable[id])?.[0];
  if (panel === "none" || !first) return <Folded timeline={timeline} usable={usable} />;
  const chosen = usable[panel] ? panel : first;
  const resize = (px: number) => {
    const next = Math.max(LEAST_PX, Math.min(window.innerHeight * 0.7, px));
    setHeight(next);
    remember(KEPT, String(Math.round(next)));
  };
  return (
    <section class="tl-panel" style={{ height: `${height}px` }} aria-label="Details">
      <PanelSash height={height} onResize={resize} />
      <div class="tl-tabs">
        {TITLES.filter(([id]) => usable[id]).map(([id, title]) => (
          <button
            key={id}
            type="button"
            class="tl-tab"
            aria-pressed={chosen === id}
            onClick={() => {
              state.panel.value = id;
            }}
          >
            {title}
          </button>
        ))}
        <button
          type="button"
          class="tl-tab close"
          onClick={() => {
            state.panel.value = "none";
          }}
        >
          Collapse
        </button>
      </div>
      <div class="tl-panel-body" tabIndex={-1}>
        {chosen === "event" && <EventPanel timeline={timeline} about={about} />}
        {chosen === "range" && <RangePanel {...{ timeline, runs, onSelectRange }} />}
        {chosen === "search" && <SearchPanel timeline={timeline} />}
      </div>
    </section>
  );
}

interface FoldedProps {
  readonly timeline: Timeline;
  readonly usable: Readonly<Record<"event" | "range" | "search", boolean>>;
}

/** The tabs alone, when their panel was folded away. */
function Folded({ timeline, usable }: FoldedProps) {
  const tabs = TITLES.filter(([id]) => usable[id]);
  if (tabs.length === 0) return null;
  return (
    <div class="tl-tabs folded">
      {tabs.map(([id, title]) => (
        <button
          key={id}
          type="button"
          class="tl-tab"
          aria-pressed={false}
          onClick={() => {
            timeline.state.panel.value = id;
          }}
        >
          {title}
        </button>
      ))}
    </div>
  );
}

function PanelSash({ height, onResize }: { height: number; onResize: (px: number) => void }) {
  const drag = (down: PointerEvent) => {
    const control = new AbortController();
    const { signal } = control;
    const move = (event: PointerEvent) => onResize(height + down.clientY - event.clientY);
    window.addEventListener("pointermove", move, { signal });
    window.addEventListener("pointerup", () => control.abort(), { signal });
    down.preventDefault();
  };
  return (
    <div
      class="tl-panel-sash"
      role="separator"
      tabIndex={0}
      aria-orientation="horizontal"
      aria-label="Height of the details"
      aria-valuenow={Math.round(height)}
      aria-valuemin={LEAST_PX}
      aria-valuemax={Math.round(window.innerHeight * 0.7)}
      onPointerDown={drag}
      onKeyDown={(event) => {
        if (event.key === "ArrowUp") onResize(height + 20);
        else if (event.key === "ArrowDown") onResize(height - 20);
        else return;
        event.preventDefault();
      }}
    />
  );
}
