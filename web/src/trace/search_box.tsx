/** Search of the whole trace: text, count, previous and next. */

import { useEffect, useState } from "preact/hooks";
import { plural } from "../base/format.ts";
import { Popover } from "../widgets/popover.tsx";
import type { TimelineState } from "./state.ts";

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
      (event.currentTarget as HTMLInputElement).blur();
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (text !== state.sought.value.text) seek(text);
      void state.step(event.shiftKey ? -1 : 1);
    }
  };
  const found = state.found.value;
  const said = found.problem
    ? "Not possible"
    : found.value
      ? plural(found.value.count, "hit")
      : found.waiting
        ? "…"
        : "";
  const none = !found.value || found.value.count === 0;
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
      <button
        type="button"
        class="button"
        aria-label="Previous hit"
        title="Previous hit (Shift N)"
        disabled={none}
        onClick={() => void state.step(-1)}
      >
        ‹
      </button>
      <button
        type="button"
        class="button"
        aria-label="Next hit"
        title="Next hit (N)"
        disabled={none}
        onClick={() => void state.step(1)}
      >
        ›
      </button>
      <HowMenu state={state} />
    </search>
  );
}

function HowMenu({ state }: { state: TimelineState }) {
  const sought = state.sought.value;
  const changed = sought.regex || sought.stat !== "";
  return (
    <Popover label={changed ? "Aa*" : "Aa"} name="How to search">
      {() => (
        <div class="menu">
          <label class="check">
            <input
              type="checkbox"
              checked={sought.regex}
              onChange={() => {
                state.sought.value = { ...sought, regex: !sought.regex };
              }}
            />
            Regular expression
          </label>
          <label class="check">
            In stat
            <input
              class="field"
              placeholder="names"
              value={sought.stat}
              onChange={(event) => {
                state.sought.value = { ...sought, stat: event.currentTarget.value.trim() };
              }}
            />
          </label>
        </div>
      )}
    </Popover>
  );
}
