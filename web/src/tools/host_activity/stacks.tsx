/** Where threads spend the time: their stacks as a flame, of a step or all, alone or against others. */

import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { getFlame, getTimelineMeta, type TimelineScope } from "../../api/timeline.ts";
import type { HostActivity as HostResult } from "../../api/types.gen.ts";
import { count, duration, plural } from "../../base/format.ts";
import { shortName } from "../../base/short_name.ts";
import { visible } from "../../base/text.ts";
import type { FlameAnswer, TimelineMeta } from "../../base/timeline.ts";
import { subParams, withSubParams } from "../../engine/address.ts";
import {
  againstRun,
  againstStep,
  type StackChoice,
  stackQuestion,
  stepChoices,
  threadSets,
} from "../../engine/flame/host_stacks.ts";
import { eventIdParams } from "../../engine/timeline/links.ts";
import { ChartFrame } from "../../widgets/charts/chart_frame.tsx";
import { FlameChart } from "../../widgets/charts/flame_chart.tsx";
import { Picker } from "../../widgets/overlay/picker.tsx";
import { PlainTable } from "../../widgets/plain_table.tsx";
import type { ToolPageProps } from "../sections/tool_page.tsx";
import { useAsked } from "./asked.ts";
import { Sandwich } from "./sandwich.tsx";

type StacksProps = ToolPageProps<HostResult>;

const VIEW = "stacks";
const TITLE = "Stacks";
const MOST_STEPS = 500;
const MOST_NAMES = 100;
const MOST_BESIDE = 8;

export function Stacks(props: StacksProps) {
  const { params, onParams, query } = props;
  const { run = "", host = "" } = query;
  const meta = useAsked(`${run} ${host}`, (signal) => getTimelineMeta(run, host, signal));
  const choice = choiceOf(subParams(params, VIEW));
  const question = meta.value && stackQuestion(meta.value, choice);
  const scope = { run, host, v: meta.value?.fingerprint ?? "" };
  const flame = useAsked(question ? JSON.stringify([scope, question]) : "", (signal) =>
    getFlame(scope, question ?? {}, signal),
  );
  const of = subParams(params, VIEW).of ?? "";
  const onOf = (name: string) =>
    onParams(withSubParams(params, VIEW, { ...subParams(params, VIEW), of: name }));
  const problem = meta.problem || flame.problem;
  if (meta.value && !question) return null;
  return (
    <ChartFrame
      title={TITLE}
      note="what the threads are in, by time; equal stacks are one"
      file={`${props.result.session} stacks`}
      table={() => question && <ByName scope={scope} question={question} onName={onOf} />}
    >
      <div class="host-stacks" aria-busy={!flame.value && !problem}>
        {meta.value && (
          <div class="stacks-controls">
            <Controls {...props} meta={meta.value} choice={choice} />
            <span class="quiet">
              <Said meta={meta.value} choice={choice} />
            </span>
          </div>
        )}
        {problem && <p class="quiet">{problem}</p>}
        {!flame.value && !problem && <p class="quiet">Merging the stacks …</p>}
        {of && meta.value && question && (
          <Sandwich
            scope={scope}
            question={question}
            of={of}
            whole={flame.value?.total_ps[0] ?? 0}
            categories={meta.value.categories}
            onOf={onOf}
          />
        )}
        {!of && flame.value && meta.value && question && (
          <Flame
            {...props}
            answer={flame.value}
            categories={meta.value.categories}
            beside={<ByName scope={scope} question={question} most={MOST_BESIDE} onName={onOf} />}
          />
        )}
      </div>
    </ChartFrame>
  );
}

function choiceOf(texts: Readonly<Record<string, string>>): StackChoice {
  return {
    threads: texts.threads ?? "",
    step: texts.step ?? "",
    against: texts.against ?? "",
    inverted: texts.inverted === "yes",
  };
}

interface ByNameProps {
  readonly scope: TimelineScope;
  readonly question: Readonly<Record<string, string | number>>;
  readonly most?: number;
  /** What a press on a name does. */
  readonly onName?: (name: string) => void;
}

/** The same time by name: what took it itself, most first. */
function ByName({ scope, question, most = MOST_NAMES, onName }: ByNameProps) {
  const asked = { ...question, by: "name", inverted: "", limit: MOST_NAMES };
  const { value, problem } = useAsked(JSON.stringify([scope, asked]), (signal) =>
    getFlame(scope, asked, signal),
  );
  if (!value) return <p class="quiet">{problem || "Asking for the times …"}</p>;
  const { name, self_ps: self, count: events, base_self_ps: before } = value;
  const rows = name.map((_, row) => row).slice(1);
  rows.sort((a, b) => (self[b] ?? 0) - (self[a] ?? 0));
  return (
    <section class="host-names" tabIndex={0} aria-label="Times by name">
      <PlainTable
        kind="compact"
        heads={["Name", "Self time", ...(before ? ["Before"] : []), "Events"]}
        isNumeric={(column) => column > 0}
        rows={rows
          .slice(0, most)
          .map((row) => [
            <NameCell name={name[row] ?? ""} onName={onName} />,
            duration(self[row] ?? 0, "ps"),
            ...(before ? [duration(before[row] ?? 0, "ps")] : []),
            count(events[row] ?? 0),
          ])}
      />
    </section>
  );
}

function NameCell({ name, onName }: { name: string; onName: ByNameProps["onName"] }) {
  const short = shortName(visible(name)) || "(no name)";
  if (!onName) return <>{short}</>;
  return (
    <button
      type="button"
      class="link"
      title={`${visible(name)}: who calls it, and whom it calls`}
      onClick={() => onName(name)}
    >
      {short}
    </button>
  );
}

interface ChosenProps {
  readonly meta: TimelineMeta;
  readonly choice: StackChoice;
}

/** Of which threads and which time. */
function Said({ meta, choice }: ChosenProps) {
  const sets = threadSets(meta);
  const threads = sets.find(({ id }) => id === choice.threads) ?? sets[0];
  const steps = stepChoices(meta);
  const step = steps.find(({ id }) => id === choice.step);
  const time = step?.label ?? (steps.length > 0 ? `all ${plural(steps.length, "step")}` : "all");
  return <>{`${plural(threads?.tracks.length ?? 0, "thread")}, ${visible(time)}`}</>;
}

function Controls({ meta, choice, params, onParams, runs, query }: StacksProps & ChosenProps) {
  const sets = useMemo(() => threadSets(meta), [meta]);
  const steps = useMemo(() => stepChoices(meta).slice(0, MOST_STEPS), [meta]);
  const set = (part: Readonly<Record<string, string>>) =>
    onParams(withSubParams(params, VIEW, { ...subParams(params, VIEW), ...part }));
  const others = [
    ...steps
      .filter(({ id }) => id !== choice.step)
      .map((step) => ({ id: againstStep(step.id), label: visible(step.label) })),
    ...runs
      .filter((run) => run !== query.run)
      .map((run) => ({ id: againstRun(run), label: run, detail: "another run" })),
  ];
  return (
    <>
      <Picker
        what="Threads"
        name="Threads"
        placeholder="Find a thread"
        current={choice.threads || (sets[0]?.id ?? "")}
        choices={sets.map(({ id, label, detail }) => ({
          id,
          label: visible(label),
          detail: visible(detail),
        }))}
        onChoose={(threads) => set({ threads })}
      />
      {steps.length > 0 && (
        <Picker
          what="Step"
          name="Steps"
          placeholder="Find a step"
          current={choice.step}
          choices={[
            { id: "", label: "all" },
            ...steps.map(({ id, label }) => ({ id, label: visible(label) })),
          ]}
          onChoose={(step) => set({ step })}
        />
      )}
      {others.length > 0 && (
        <Picker
          what="Against"
          name="Steps and runs"
          placeholder="Find a step or a run"
          current={choice.against}
          choices={[{ id: "", label: "nothing" }, ...others]}
          onChoose={(against) => set({ against })}
        />
      )}
      <button
        type="button"
        class="button"
        aria-pressed={choice.inverted}
        title="What took the time first, and below it who called it"
        onClick={() => set({ inverted: choice.inverted ? "" : "yes" })}
      >
        Inverted
      </button>
    </>
  );
}

interface FlameProps extends StacksProps {
  readonly answer: FlameAnswer;
  readonly categories: readonly string[];
  readonly beside: ComponentChildren;
}

function Flame({ answer, categories, beside, pageFor }: FlameProps) {
  return (
    <FlameChart
      label="Stacks of the threads"
      answer={answer}
      categories={categories}
      beside={beside}
      example={(event) => {
        const page = pageFor("trace_viewer", eventIdParams(event, Number.NaN, Number.NaN));
        return (
          page && (
            <a class="button" href={page.href}>
              Show the longest in the timeline
            </a>
          )
        );
      }}
    />
  );
}
