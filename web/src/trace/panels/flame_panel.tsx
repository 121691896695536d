/** The selected range as a flame: stacks merged by name, or groups; alone or beside another. */

import { useMemo, useState } from "preact/hooks";
import { count, duration, percent, signedDuration } from "../../base/format.ts";
import { shortName } from "../../base/short_name.ts";
import { visible } from "../../base/text.ts";
import type { FlameAnswer } from "../../base/timeline.ts";
import { treeOf } from "../../engine/table/tree.ts";
import type { FlameView } from "../../engine/timeline/address.ts";
import { changeClass, flameChange, GROUPINGS } from "../../engine/timeline/flame_change.ts";
import { Icicle } from "../../widgets/charts/icicle.tsx";
import { TipFacts } from "../../widgets/charts/tip_facts.tsx";
import { Picker } from "../../widgets/overlay/picker.tsx";
import type { TimelineState } from "../model/state.ts";

const LEVELS = 24;
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
      {value && <FlameChart state={state} answer={value} />}
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
          {GROUPINGS.map(([by, label]) => (
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

function FlameChart({ state, answer }: { state: TimelineState; answer: FlameAnswer }) {
  const [focus, setFocus] = useState<{ answer: FlameAnswer; row: number } | null>(null);
  const tree = useMemo(
    () =>
      treeOf(
        answer.parent.map((_, row) => row),
        answer.parent,
      ),
    [answer],
  );
  const names = useMemo(
    () => answer.name.map((name) => shortName(visible(name)) || "(no name)"),
    [answer],
  );
  const change = useMemo(() => flameChange(answer), [answer]);
  const values = useMemo(
    () =>
      Float64Array.from(answer.total_ps, (after, row) => Math.max(after, change?.before[row] ?? 0)),
    [answer, change],
  );
  if (answer.parent.length < 2) return <p class="quiet">Nothing ran in this range.</p>;
  const root = focus?.answer === answer ? focus.row : 0;
  const all = [...names];
  all[0] = "all";
  return (
    <>
      <p class="quiet">
        {change
          ? `Width: the longer of the two${change.scaled ? ", as if both ranges were as long" : ""}. Red took more than before, blue less.`
          : "Width: time of a name and of what it contains. Click to zoom in."}
        {answer.left_out > 0 && ` ${count(answer.left_out)} smaller ones are not drawn.`}
      </p>
      <Icicle
        label="The range by what it contains"
        tree={tree}
        values={values}
        names={all}
        fill={NO_FILL}
        isFaint={() => false}
        {...(change ? { hueOf: (row: number) => changeClass(change, row) } : {})}
        levels={LEVELS}
        root={root}
        onRoot={(row) => setFocus({ answer, row: Math.max(0, row) })}
        tip={(row) => <NodeTip answer={answer} row={row} change={change} />}
      />
      {root > 0 && (
        <p class="tl-actions">
          <span>
            {names[root]}: {duration(answer.total_ps[root] ?? 0, "ps")}
          </span>
          <GoToExample state={state} event={answer.example[root] ?? -1} />
          <button type="button" class="button" onClick={() => setFocus(null)}>
            Show all
          </button>
        </p>
      )}
    </>
  );
}

const NO_FILL = new Float64Array(0);

function GoToExample({ state, event }: { state: TimelineState; event: number }) {
  if (event < 0) return null;
  return (
    <button type="button" class="button" onClick={() => void state.goToEvent(event)}>
      Show the longest
    </button>
  );
}

interface NodeTipProps {
  readonly answer: FlameAnswer;
  readonly row: number;
  readonly change: ReturnType<typeof flameChange>;
}

function NodeTip({ answer, row, change }: NodeTipProps) {
  const total = answer.total_ps[row] ?? 0;
  const whole = answer.total_ps[0] || 1;
  const before = change?.before[row];
  return (
    <TipFacts
      title={row === 0 ? "all" : visible(answer.name[row] ?? "").slice(0, 300)}
      facts={[
        ["Time", duration(total, "ps")],
        ["Share", percent(total / whole)],
        ["Self time", duration(answer.self_ps[row] ?? 0, "ps")],
        ["Events", count(answer.count[row] ?? 0)],
        ["Before", before === undefined ? "" : duration(before, "ps")],
        ["Change", before === undefined ? "" : signedDuration(total - before, "ps")],
      ]}
    />
  );
}
