/** The row of controls above the timeline. */

import { reportNotes } from "../../api/client.ts";
import { recordingUrl } from "../../api/timeline.ts";
import { categoryToken } from "../../base/category_tokens.ts";
import { count } from "../../base/format.ts";
import { visible } from "../../base/text.ts";
import { COLOUR_MODES, HANDS } from "../../engine/timeline/address.ts";
import { zoomed } from "../../engine/timeline/viewport.ts";
import { Popover } from "../../widgets/overlay/popover.tsx";
import type { TimelineState } from "../model/state.ts";
import type { Timeline } from "../stage/timeline.ts";
import { MarksMenu } from "./marks_menu.tsx";
import { SearchBox } from "./search_box.tsx";

interface ToolbarProps {
  readonly timeline: Timeline;
  readonly title: string;
  /** Ids of all runs there are. */
  readonly runs: readonly string[];
  readonly onHelp: () => void;
}

const HAND_NAMES = { select: "Select", pan: "Pan", zoom: "Zoom", timing: "Measure" } as const;

export function Toolbar({ timeline, title, runs, onHelp }: ToolbarProps) {
  const { state } = timeline;
  const zoom = (factor: number) => {
    state.view.value = zoomed(state.view.value, factor, 0.5, state.whole);
  };
  return (
    <div class="tl-toolbar" role="toolbar" aria-label="Timeline">
      <h1>{title}</h1>
      <Hands state={state} />
      <button
        type="button"
        class="button"
        aria-label="Zoom in"
        title="Zoom in (W)"
        onClick={() => zoom(0.5)}
      >
        +
      </button>
      <button
        type="button"
        class="button"
        aria-label="Zoom out"
        title="Zoom out (S)"
        onClick={() => zoom(2)}
      >
        −
      </button>
      <button type="button" class="button" title="Whole trace (0)" onClick={() => state.fit()}>
        Fit
      </button>
      <StepField state={state} />
      <SearchBox state={state} />
      <div class="tl-end">
        <MarksMenu state={state} />
        <ViewMenu state={state} runs={runs} />
        <TracksMenu state={state} />
        {!reportNotes && <SaveMenu timeline={timeline} />}
        <button
          type="button"
          class="button"
          aria-label="Timeline shortcuts"
          title="Timeline shortcuts (?)"
          onClick={onHelp}
        >
          ?
        </button>
      </div>
    </div>
  );
}

function Hands({ state }: { state: TimelineState }) {
  return (
    <fieldset class="tl-hands">
      <legend class="off-screen">Drag mode</legend>
      {HANDS.map((hand, place) => (
        <button
          key={hand}
          type="button"
          class="button"
          aria-pressed={state.hand.value === hand}
          title={`${HAND_NAMES[hand]} (key ${place + 1})`}
          onClick={() => {
            state.hand.value = hand;
          }}
        >
          {HAND_NAMES[hand]}
        </button>
      ))}
    </fieldset>
  );
}

/** Zooms to a step by its number. */
function StepField({ state }: { state: TimelineState }) {
  const { steps } = state.meta;
  if (steps.length === 0) return null;
  const go = (text: string) => {
    const wanted = text.trim();
    for (const each of steps) {
      const at = each.num.findIndex((num, i) => String(num) === wanted || each.name[i] === wanted);
      if (at < 0) continue;
      state.zoomTo({ begin: each.begin_ps[at] as number, end: each.end_ps[at] as number });
      state.said.value = `Step ${wanted}.`;
      return;
    }
    state.said.value = `There is no step ${wanted}.`;
  };
  return (
    <form
      class="tl-step"
      onSubmit={(event) => {
        event.preventDefault();
        go(new FormData(event.currentTarget).get("step") as string);
        // The keys are the timeline's again.
        event.currentTarget.querySelector("input")?.blur();
      }}
    >
      <input
        id="tl-step"
        class="field"
        name="step"
        inputMode="numeric"
        aria-label="Go to step"
        placeholder="Step"
        title="Number of a step, then Enter (J)"
        onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}
      />
    </form>
  );
}

const MODE_NAMES = { name: "Name", category: "Category", step: "Step" } as const;

function ViewMenu({ state, runs }: { state: TimelineState; runs: readonly string[] }) {
  const others = runs.filter((run) => run !== state.scope.run);
  return (
    <Popover label="View" align="right">
      {() => (
        <div class="menu">
          <fieldset>
            <legend class="quiet">Colour by</legend>
            {COLOUR_MODES.map((mode) => (
              <label key={mode} class="check">
                <input
                  type="radio"
                  name="tl-colours"
                  checked={state.colours.value === mode}
                  onChange={() => {
                    state.colours.value = mode;
                  }}
                />
                {MODE_NAMES[mode]}
              </label>
            ))}
          </fieldset>
          {state.colours.value === "category" && (
            <ul class="tl-legend">
              {state.meta.categories.map((name) => (
                <li key={name}>
                  <span class="tl-swatch" style={{ background: `var(${categoryToken(name)})` }} />
                  {name}
                </li>
              ))}
            </ul>
          )}
          <label class="check">
            <input
              type="checkbox"
              checked={state.allArrows.value}
              onChange={() => {
                state.allArrows.value = !state.allArrows.value;
              }}
            />
            All arrows in view
          </label>
          <label class="check">
            <input
              type="checkbox"
              checked={state.logCounters.value}
              onChange={() => {
                state.logCounters.value = !state.logCounters.value;
              }}
            />
            Logarithmic counters
          </label>
          {others.length > 0 && !reportNotes && (
            <label>
              <span class="quiet">Another run below</span>
              <select
                class="field"
                value={state.second.value?.run ?? ""}
                onChange={(event) => {
                  const run = event.currentTarget.value;
                  state.second.value = run ? { run, step: null } : null;
                }}
              >
                <option value="">none</option>
                {others.map((run) => (
                  <option key={run} value={run}>
                    {visible(run)}
                  </option>
                ))}
              </select>
            </label>
          )}
          <button
            type="button"
            class="menu-item"
            disabled={state.marks.value.length === 0}
            onClick={() => {
              state.marks.value = [];
            }}
          >
            Remove marks
          </button>
        </div>
      )}
    </Popover>
  );
}

function TracksMenu({ state }: { state: TimelineState }) {
  const arranged = state.arranged.value;
  const hidden = [...arranged.hidden];
  const label =
    arranged.filter || arranged.busyOnly
      ? "Tracks (filtered)"
      : hidden.length > 0
        ? `Tracks (${count(hidden.length)} hidden)`
        : "Tracks";
  return (
    <Popover label={label} align="right">
      {() => (
        <div class="menu tl-tracks">
          <input
            class="field"
            aria-label="Filter tracks"
            placeholder="Filter tracks"
            value={arranged.filter}
            onInput={(event) => state.change({ filter: event.currentTarget.value })}
          />
          <label class="check">
            <input
              type="checkbox"
              checked={arranged.busyOnly}
              onChange={() => state.change({ busyOnly: !arranged.busyOnly })}
            />
            Only tracks with events in view
          </label>
          <button
            type="button"
            class="menu-item"
            onClick={() => state.change({ closed: new Set(), closedSections: new Set() })}
          >
            Expand all
          </button>
          <button
            type="button"
            class="menu-item"
            onClick={() =>
              state.change({ closedSections: new Set(state.meta.sections.map(({ id }) => id)) })
            }
          >
            Collapse all sections
          </button>
          <button
            type="button"
            class="menu-item"
            onClick={() => state.change({ moves: [], heights: new Map(), pinned: [] })}
          >
            Reset order and heights
          </button>
          {hidden.length > 0 && <p class="quiet">Hidden tracks (click to show)</p>}
          {hidden.map((id) => (
            <button
              key={id}
              type="button"
              class="menu-item"
              onClick={() =>
                state.change({ hidden: new Set(hidden.filter((each) => each !== id)) })
              }
            >
              {visible(state.meta.tracks[id]?.name ?? "")}
            </button>
          ))}
        </div>
      )}
    </Popover>
  );
}

const FORMATS: readonly (readonly [string, string])[] = [
  ["perfetto", "Perfetto trace"],
  ["chrome", "Chrome JSON, gzipped"],
  ["speedscope", "speedscope"],
  ["pprof", "pprof"],
  ["xspace", "XSpace"],
];

function SaveMenu({ timeline }: { timeline: Timeline }) {
  const { state, scope, meta } = timeline;
  const span = state.range.value?.span ?? state.view.value;
  const part = { start_ps: Math.floor(span.begin), end_ps: Math.ceil(span.end) };
  const what = state.range.value ? "Selected range" : "Visible range";
  // An XSpace is the file of one host.
  const formats = FORMATS.filter(([id]) => id !== "xspace" || meta.hosts.length === 1);
  return (
    <Popover label="Save" align="right">
      {() => (
        <div class="menu">
          {[["Whole trace", {}] as const, [what, part] as const].map(([title, question]) => (
            <div key={title}>
              <p class="quiet">{title}</p>
              {formats.map(([format, label]) => (
                <a
                  key={format}
                  class="menu-item"
                  href={recordingUrl(scope, { format, ...question })}
                  download=""
                >
                  {label}
                </a>
              ))}
            </div>
          ))}
        </div>
      )}
    </Popover>
  );
}
