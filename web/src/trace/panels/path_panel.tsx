/** The critical path of the range: what it comes to by name, and what the gaps are. */

import { count, duration, percent, plural } from "../../base/format.ts";
import { shortName } from "../../base/short_name.ts";
import { shortened, visible } from "../../base/text.ts";
import type { PathAnswer } from "../../base/timeline.ts";
import type { TimelineState } from "../model/state.ts";

const LONGEST_NAME = 100;

export function PathPanel({ state }: { state: TimelineState }) {
  const { value, waiting, problem } = state.path.answer.value;
  if (problem) {
    return (
      <p role="alert">
        {problem}{" "}
        <button type="button" class="button" onClick={() => void state.path.load()}>
          Try again
        </button>
      </p>
    );
  }
  if (!value) return null;
  if (value.names.length === 0) {
    return <p class="quiet">No thread and no device of this host worked in this range.</p>;
  }
  return (
    <div class={waiting ? "stale" : ""} aria-busy={waiting}>
      <p>{sentence(state, value)}</p>
      <Names state={state} answer={value} />
    </div>
  );
}

function sentence(state: TimelineState, answer: PathAnswer): string {
  const whole = answer.end_ps - answer.begin_ps;
  const parts = [...answer.categories]
    .sort((a, b) => b.time_ps - a.time_ps)
    .slice(0, 4)
    .map(
      ({ category, time_ps }) =>
        `${percent(time_ps / whole)} ${state.meta.categories[category] ?? "other"}`,
    );
  const gaps =
    answer.gap_ps > 0
      ? `; ${percent(answer.gap_ps / whole)} gaps, in which nothing recorded explains the wait`
      : "";
  const rest = answer.end_ps - answer.path_end_ps;
  const tail = rest > 0.001 * whole ? `; ${percent(rest / whole)} behind its end` : "";
  return `Of the range: ${parts.join(", ")}${gaps}${tail}. ${plural(answer.pieces.event.length + answer.left_out, "piece")}.`;
}

function Names({ state, answer }: { state: TimelineState; answer: PathAnswer }) {
  const whole = answer.end_ps - answer.begin_ps;
  return (
    <table class="tl-table">
      <caption class="off-screen">The critical path by name</caption>
      <thead>
        <tr>
          <th scope="col">Name</th>
          {["On the path", "Share", "Gaps before", "Pieces"].map((title) => (
            <th key={title} scope="col" class="number">
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {answer.names.map((row) => (
          <tr key={row.longest}>
            <th scope="row">
              <button
                type="button"
                class="tl-link"
                title={`${visible(row.name)}: to the longest`}
                onClick={() => void state.goToEvent(row.longest)}
              >
                {shortened(shortName(visible(row.name)) || "(no name)", LONGEST_NAME)}
              </button>
            </th>
            <td class="number">{duration(row.time_ps, "ps")}</td>
            <td class="number">{percent(row.time_ps / whole)}</td>
            <td class="number">{row.gap_ps > 0 ? duration(row.gap_ps, "ps") : ""}</td>
            <td class="number">{count(row.pieces)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
