/** Search of the whole trace: text, count, previous and next. */

import { useEffect, useState } from "preact/hooks";
import { plural } from "../../base/format.ts";
import { Popover } from "../../widgets/overlay/popover.tsx";
import type { TimelineState } from "../model/state.ts";

const TYPING_MS = 250;

export function SearchBox({ state }: { state: TimelineState }) {
  const sought = state.sought.value;
  const [text, setText] = useState(sought.text);
  useEffect(() => setText(sought.text), [sought.text]);
  useEffect(() => {
    if (text === state.sought.value.text) return;
    const timer = window.setTimeout(() => seek(text), TYPING_MS);
    return () => window.clearTimeout(timer);
  }, [text]);
  const seek = (wanted: string) => {
    state.sought.value = { ...state.sought.value, text: wanted };
    if (wanted) state.panel.value = "search";
    else if (state.panel.value === "search") state.panel.value = "none";
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") {
      // The browser would empty the field, while its hits stay.
      event.preventDefault();
      (event.currentTarget as HTMLInputElement).blur();
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (text !== state.sought.value.text) seek(text);
      void state.step(event.shiftKey ? -1 : 1);
    }
  };
  const said = countText(state);
  return (
    <search class="tl-search">
      <input
        id="tl-search"
        class="field"
        type="search"
        aria-label="Search all events"
        placeholder="Search all events"
        title="Search the whole trace (/)"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <span class={`tl-count ${said ? "" : "none"}`} role="status">
        {said}
      </span>
      <StepButtons state={state} />
      <HowMenu state={state} />
    </search>
  );
}

/** How many events match, or why that is not known. */
function countText(state: TimelineState): string {
  const { value, waiting, problem } = state.found.value;
  if (problem) return "Search failed";
  if (value) return plural(value.count, "hit");
  return waiting ? "…" : "";
}

const DIRECTIONS = [
  [-1, "Previous hit", "Previous hit (Shift N)", "‹"],
  [1, "Next hit", "Next hit (N)", "›"],
] as const;

function StepButtons({ state }: { state: TimelineState }) {
  const none = !state.found.value.value?.count;
  return (
    <>
      {DIRECTIONS.map(([direction, name, title, sign]) => (
        <button
          key={name}
          type="button"
          class="button"
          aria-label={name}
          title={title}
          disabled={none}
          onClick={() => void state.step(direction)}
        >
          {sign}
        </button>
      ))}
    </>
  );
}

function HowMenu({ state }: { state: TimelineState }) {
  const sought = state.sought.value;
  const inStat = (text: string) => {
    if (text.trim() !== sought.stat)
      state.sought.value = { ...state.sought.value, stat: text.trim() };
  };
  const changed = sought.regex || sought.stat !== "";
  return (
    <Popover label={changed ? "Aa*" : "Aa"} name="Search options">
      {() => (
        <div class="menu">
          <label class="check">
            <input
              type="checkbox"
              checked={sought.regex}
              onChange={() => {
                state.sought.value = { ...state.sought.value, regex: !sought.regex };
              }}
            />
            Regular expression
          </label>
          <label class="check">
            Search in
            <input
              class="field"
              placeholder="names, or a stat such as shape"
              value={sought.stat}
              onChange={(event) => inStat(event.currentTarget.value)}
              onKeyDown={(event) => event.key === "Enter" && inStat(event.currentTarget.value)}
            />
          </label>
        </div>
      )}
    </Popover>
  );
}
