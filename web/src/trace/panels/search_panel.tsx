/** The hits of a search in the whole trace, by time. */

import { useState } from "preact/hooks";
import { count, duration, plural } from "../../base/format.ts";
import { visible } from "../../base/text.ts";
import type { Place } from "../../base/timeline.ts";
import { axisTime } from "../../engine/timeline/time_axis.ts";
import type { Timeline } from "../stage/timeline.ts";
import { PlaceButton } from "./place_button.tsx";

type ColumnId = "name" | "start" | "duration" | "track";

const COLUMNS: readonly {
  readonly id: ColumnId;
  readonly title: string;
  readonly number: boolean;
}[] = [
  { id: "name", title: "Name", number: false },
  { id: "start", title: "Start", number: true },
  { id: "duration", title: "Duration", number: true },
  { id: "track", title: "Track", number: false },
];

/** The listed hits by one column; equal ones by time. */
function sorted(
  places: readonly Place[],
  by: ColumnId,
  down: boolean,
  trackName: (place: Place) => string,
): readonly Place[] {
  const compare = (a: Place, b: Place): number => {
    if (by === "name") return a.name.localeCompare(b.name);
    if (by === "track") return trackName(a).localeCompare(trackName(b));
    if (by === "duration") return a.end_ps - a.begin_ps - (b.end_ps - b.begin_ps);
    return a.begin_ps - b.begin_ps;
  };
  return places.toSorted((a, b) => (down ? -1 : 1) * compare(a, b) || a.begin_ps - b.begin_ps);
}

export function SearchPanel({ timeline }: { timeline: Timeline }) {
  const { state } = timeline;
  const { value, waiting, problem } = state.found.value;
  const [{ by, down }, setOrder] = useState<{ by: ColumnId; down: boolean }>({
    by: "start",
    down: false,
  });
  const trackName = (place: Place) => visible(state.meta.tracks[place.track]?.name ?? "");
  if (problem) {
    return (
      <p role="alert">
        {problem}{" "}
        <button type="button" class="button" onClick={() => void state.search()}>
          Try again
        </button>
      </p>
    );
  }
  if (!value) return <p class="quiet">{waiting ? "Searching the whole trace …" : ""}</p>;
  return (
    <div class={waiting ? "stale" : ""} aria-busy={waiting}>
      <p>
        {plural(value.count, "event")} on {plural(value.tracks.length, "track")}
        {value.count > value.first.length && `; the first ${count(value.first.length)} are listed`}.
        Next and Previous step through all of them.
      </p>
      <table class="tl-table">
        <caption class="off-screen">Hits</caption>
        <thead>
          <tr>
            {COLUMNS.map(({ id, title, number }) => (
              <th
                key={id}
                scope="col"
                class={number ? "number" : undefined}
                aria-sort={by === id ? (down ? "descending" : "ascending") : "none"}
              >
                <button
                  type="button"
                  class="tl-sort"
                  onClick={() =>
                    setOrder({ by: id, down: by === id ? !down : number && id !== "start" })
                  }
                >
                  {title}
                  {by === id && <span aria-hidden="true">{down ? " ↓" : " ↑"}</span>}
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {sorted(value.first, by, down, trackName).map((place) => (
            <tr key={place.event} aria-selected={state.event.value === place.event}>
              <th scope="row">
                <PlaceButton brief state={state} place={place} />
              </th>
              <td class="number">{axisTime(place.begin_ps)}</td>
              <td class="number">{duration(place.end_ps - place.begin_ps, "ps")}</td>
              <td>{trackName(place)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
