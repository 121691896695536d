/** Marks with their notes, and views that were given a name: both travel in the address. */

import { useState } from "preact/hooks";
import { visible } from "../../base/text.ts";
import { LONGEST_NOTE } from "../../engine/timeline/address.ts";
import { axisTime } from "../../engine/timeline/time_axis.ts";
import { Popover } from "../../widgets/overlay/popover.tsx";
import type { TimelineState } from "../model/state.ts";

export function MarksMenu({ state }: { state: TimelineState }) {
  const marks = [...new Set(state.marks.value)].sort((a, b) => a - b);
  const bookmarks = state.bookmarks.value;
  const size = marks.length + bookmarks.length;
  return (
    <Popover label={size > 0 ? `Notes (${size})` : "Notes"} align="right">
      {() => (
        <div class="menu tl-notes">
          <p class="quiet">Marks: press T over the tracks to set one</p>
          {marks.map((at) => (
            <MarkRow key={at} state={state} at={at} />
          ))}
          <p class="quiet">Bookmarks</p>
          {bookmarks.map(({ name, span }, place) => (
            <div key={place} class="tl-note">
              <button
                type="button"
                class="menu-item"
                onClick={() => {
                  state.view.value = span;
                }}
              >
                {visible(name)}
              </button>
              <button
                type="button"
                class="button"
                aria-label={`Forget ${visible(name)}`}
                onClick={() => {
                  state.bookmarks.value = bookmarks.filter((_, i) => i !== place);
                }}
              >
                ×
              </button>
            </div>
          ))}
          <BookmarkForm state={state} />
        </div>
      )}
    </Popover>
  );
}

function MarkRow({ state, at }: { state: TimelineState; at: number }) {
  const middle = () => {
    const { begin, end } = state.view.value;
    const half = (end - begin) / 2;
    state.view.value = { begin: at - half, end: at + half };
  };
  return (
    <div class="tl-note">
      <button type="button" class="tl-link tl-when" onClick={middle}>
        {axisTime(at)}
      </button>
      <input
        class="field"
        aria-label={`Note at ${axisTime(at)}`}
        placeholder="Note"
        maxLength={LONGEST_NOTE}
        value={state.notes.value.get(at) ?? ""}
        onChange={(event) => {
          state.notes.value = new Map([...state.notes.value, [at, event.currentTarget.value]]);
        }}
      />
      <button
        type="button"
        class="button"
        aria-label={`Remove the mark at ${axisTime(at)}`}
        onClick={() => {
          state.marks.value = state.marks.value.filter((each) => each !== at);
        }}
      >
        ×
      </button>
    </div>
  );
}

function BookmarkForm({ state }: { state: TimelineState }) {
  const [name, setName] = useState("");
  const usable = name.trim() !== "";
  return (
    <form
      class="tl-note"
      onSubmit={(event) => {
        event.preventDefault();
        if (!usable) return;
        const span = state.view.value;
        state.bookmarks.value = [...state.bookmarks.value, { name: name.trim(), span }];
        setName("");
      }}
    >
      <input
        class="field"
        aria-label="Name of this view"
        placeholder="Name of this view"
        maxLength={LONGEST_NOTE}
        value={name}
        onInput={(event) => setName(event.currentTarget.value)}
      />
      <button type="submit" class="button" disabled={!usable}>
        Keep
      </button>
    </form>
  );
}
