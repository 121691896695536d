/** The selected range as a flame: stacks merged by name, or groups; alone or beside another. */

import type { FlameView } from "../../engine/timeline/address.ts";
import { FlameChart } from "../../widgets/charts/flame_chart.tsx";
import { Picker } from "../../widgets/overlay/picker.tsx";
import type { TimelineState } from "../model/state.ts";

const THIS_RUN = "";

interface FlamePanelProps {
  readonly state: TimelineState;
  readonly runs: readonly string[];
}

export function FlamePanel({ state, runs }: FlamePanelProps) {
  const view = state.flame.view.value;
  const { value, waiting, problem } = state.flame.answer.value;
  if (!view) return null;
  return (
    <div class={waiting ? "tl-flame stale" : "tl-flame"} aria-busy={waiting}>
      <FlameControls state={state} view={view} runs={runs} />
      {problem && (
        <p role="alert">
          {problem}{" "}
          <button type="button" class="button" onClick={() => void state.flame.load()}>
            Try again
          </button>
        </p>
      )}
      {value && (
        <FlameChart
          label="The range by what it contains"
          answer={value}
          categories={state.meta.categories}
          example={(event) => (
            <button type="button" class="button" onClick={() => void state.goToEvent(event)}>
              Show the longest
            </button>
          )}
        />
      )}
    </div>
  );
}

function FlameControls({ state, view, runs }: FlamePanelProps & { readonly view: FlameView }) {
  const range = state.range.value;
  const others = runs.filter((run) => run !== state.scope.run);
  return (
    <p class="tl-actions">
      <label>
        Group by{" "}
        <select
          class="field"
          value={view.by}
          onChange={(event) => {
            const by = event.currentTarget.value;
            state.flame.change({ by, inverted: view.inverted && by === "stack" });
          }}
        >
          {state.meta.groupings.map(({ by, label }) => (
            <option key={by} value={by}>
              {label}
            </option>
          ))}
        </select>
      </label>
      <button
        type="button"
        class="button"
        aria-pressed={view.inverted}
        disabled={view.by !== "stack"}
        title="What took the time first, and below it who called it"
        onClick={() => state.flame.change({ inverted: !view.inverted })}
      >
        Inverted
      </button>
      {range && !view.baseRun && (
        <button
          type="button"
          class="button"
          title="Select another range afterwards: it is shown against this one"
          onClick={() => state.flame.change({ base: range.span })}
        >
          {view.base ? "Compare with this range instead" : "Keep for comparison"}
        </button>
      )}
      {others.length > 0 && (
        <Picker
          what="Against"
          name="Runs"
          placeholder="Find a run"
          current={view.baseRun}
          choices={[
            { id: THIS_RUN, label: "no other run" },
            ...others.map((run) => ({ id: run, label: run })),
          ]}
          onChoose={(baseRun) => state.flame.change({ baseRun, base: null })}
        />
      )}
      {(view.base || view.baseRun) && (
        <button
          type="button"
          class="button"
          onClick={() => state.flame.change({ base: null, baseRun: "" })}
        >
          Alone
        </button>
      )}
    </p>
  );
}
