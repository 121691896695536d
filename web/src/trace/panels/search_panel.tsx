/** The hits of a search in the whole trace, by time. */

import { count, duration, plural } from "../../base/format.ts";
import { visible } from "../../base/text.ts";
import { axisTime } from "../../engine/timeline/time_axis.ts";
import type { Timeline } from "../stage/timeline.ts";
import { PlaceButton } from "./place_button.tsx";

export function SearchPanel({ timeline }: { timeline: Timeline }) {
  const { state } = timeline;
  const { value, waiting, problem } = state.found.value;
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
            <th scope="col">Name</th>
            <th scope="col" class="number">
              Begins
            </th>
            <th scope="col" class="number">
              Duration
            </th>
            <th scope="col">Track</th>
          </tr>
        </thead>
        <tbody>
          {value.first.map((place) => (
            <tr key={place.event} aria-selected={state.event.value === place.event}>
              <th scope="row">
                <PlaceButton brief state={state} place={place} />
              </th>
              <td class="number">{axisTime(place.begin_ps)}</td>
              <td class="number">{duration(place.end_ps - place.begin_ps, "ps")}</td>
              <td>{visible(state.meta.tracks[place.track]?.name ?? "")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
