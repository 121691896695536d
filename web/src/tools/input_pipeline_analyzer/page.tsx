/** Input pipeline: whether steps wait for input, where they go, and what the host's input work is. */

import { byName, numbersOf } from "../../api/columns.ts";
import type { InputPipelineAnalyzer, Spread } from "../../api/types.gen.ts";
import { duration, MISSING, percent, plural } from "../../base/format.ts";
import { partsFor } from "../../base/parts.ts";
import { visible, withUnits } from "../../base/text.ts";
import { ChartFrame } from "../../widgets/charts/chart_frame.tsx";
import { StackBar } from "../../widgets/charts/stack_bar.tsx";
import { TopBars } from "../../widgets/charts/top_bars.tsx";
import { type Fact, Figures } from "../../widgets/facts.tsx";
import { PlainTable } from "../../widgets/plain_table.tsx";
import { ChartSection } from "../sections/chart_section.tsx";
import { Diagnostics } from "../sections/diagnostics.tsx";
import { Prose } from "../sections/prose.tsx";
import { StepSection } from "../sections/step_section.tsx";
import { TableSection } from "../sections/table_section.tsx";
import type { ToolPageProps } from "../sections/tool_page.tsx";

type InputProps = ToolPageProps<InputPipelineAnalyzer>;

const COLOURS: Readonly<Record<string, string>> = {
  highly_input_bound: "input",
  moderately_input_bound: "input",
  not_input_bound: "device",
  unknown: "other",
};

export function InputPipeline(props: InputProps) {
  const { result } = props;
  return (
    <div class="tool-page">
      <header class={`verdict bound-${COLOURS[result.verdict] ?? "other"}`}>
        <h2 class="verdict-line">{withUnits(result.headline)}</h2>
        <p>
          <Prose {...props} text={result.next_step} />
        </p>
      </header>
      <Figures figures={figures(result)} />
      <AverageStep {...props} />
      {result.step_table.rows > 0 && (
        <StepSection
          {...props}
          field="step_table"
          source={byName(result.step_table)}
          medianMs={medianOf(result)}
        />
      )}
      {result.input_across_workers && (
        <ChartSection
          {...props}
          field="input_across_workers.per_step"
          title="Input wait over workers"
          note="Each worker for itself, copies of input included"
          source={result.input_across_workers.per_step}
        />
      )}
      <HostSide {...props} />
      <TableSection
        {...props}
        field="input_ops"
        title="Input ops"
        note="Self time excludes input ops nested on the same thread."
        none="None was recorded."
        noun={["input op", "input ops"]}
        source={result.input_ops}
        main
        constants
      />
      {result.host_table.rows > 1 && (
        <TableSection
          {...props}
          field="host_table"
          title="Hosts"
          noun={["host", "hosts"]}
          source={result.host_table}
          constants
        />
      )}
      <Diagnostics diagnostics={result.diagnostics} />
    </div>
  );
}

function medianOf({ step_table: { columns } }: InputPipelineAnalyzer): number | null {
  const times = numbersOf(columns.step_time_ms).filter(
    (time, row) => columns.kept[row] !== false && !Number.isNaN(time),
  );
  times.sort();
  return times.length > 2 ? (times[times.length >> 1] ?? null) : null;
}

function spreadNote(spread: Spread, steps: number, show: (value: number) => string): string {
  const { std, min, max } = spread;
  if (min === null || max === null) return "no step found";
  if (steps === 1) return "of one step";
  const deviation = std === null ? "" : `± ${show(std)}, `;
  return `${deviation}${show(min)} to ${show(max)}`;
}

function figures({ device_side: device, ...result }: InputPipelineAnalyzer): Fact[] {
  const ms = (value: number) => duration(value, "ms");
  const mean = (spread: Spread, show: (value: number) => string) =>
    spread.mean === null ? MISSING : show(spread.mean);
  const whole = result.times_of === "recording";
  const waiting = {
    label: "Waiting for input",
    value: result.input_frac === null ? MISSING : percent(result.input_frac),
    note: "of the time, including copies to devices; above 5% is worth fixing, above 20% is severe",
  };
  if (whole) {
    const waited = mean(device.input_wait_ms, ms);
    const note = `of ${mean(device.step_time_ms, ms)} recorded`;
    return [waiting, { label: "Input wait and copies", value: waited, note }];
  }
  return [
    waiting,
    {
      label: "Input wait and copies",
      value: mean(device.input_wait_ms, ms),
      note: spreadNote(device.input_wait_ms, result.step_count, ms),
    },
    ...acrossWorkers(result.input_across_workers),
    {
      label: "Step time",
      value: mean(device.step_time_ms, ms),
      note: spreadNote(device.step_time_ms, result.step_count, ms),
    },
    {
      label: "Steps counted",
      value: String(result.step_count),
      note: result.steps_found,
    },
  ];
}

/** The range of the wait where several devices or hosts take part. */
function acrossWorkers(across: InputPipelineAnalyzer["input_across_workers"]): Fact[] {
  if (!across) return [];
  const ms = (value: number | null) => (value === null ? MISSING : duration(value, "ms"));
  return [
    {
      label: `Input wait of ${across.workers} workers`,
      value: `${ms(across.least_ms)} to ${ms(across.most_ms)}`,
      note: `${visible(across.least_worker)} to ${visible(across.most_worker)}; mean ${ms(across.mean_ms)}, each worker for itself`,
    },
  ];
}

function AverageStep({ result, tool }: ToolPageProps<InputPipelineAnalyzer>) {
  const means = result.device_side.mean_ms;
  const whole = result.times_of === "recording";
  const items = partsFor(Object.keys(means), tool.labels).map((part) => ({
    part,
    ms: means[part.id] ?? null,
    stdMs: null,
  }));
  const total = items.reduce((sum, item) => sum + (item.ms ?? 0), 0);
  if (total <= 0) {
    return (
      <section>
        <h2>Average step</h2>
        <p class="quiet">
          No step was found, so the share of input in the step time is unknown. The host's input
          work is below.
        </p>
      </section>
    );
  }
  return (
    <ChartFrame
      title={whole ? "The whole recording" : "Average step"}
      note={
        whole
          ? "the parts sum to the recording"
          : `mean of ${plural(result.step_count, "step")}; the parts sum to the step`
      }
      file={`${result.session} input average step`}
    >
      <StackBar items={items} totalMs={total} />
    </ChartFrame>
  );
}

/** The five kinds of host work, with what each means and what to do about it. */
function HostSide(props: InputProps) {
  const { result } = props;
  const known = result.host_breakdown.filter((each) => (each.self_time_ms ?? 0) > 0);
  if (known.length === 0) {
    return (
      <section>
        <h2>What the host does for input</h2>
        <p class="quiet">
          No input ops were recorded: no tf.data iterator, no DataLoader, no call to next().
        </p>
      </section>
    );
  }
  const bars = result.host_breakdown.map((each) => ({
    label: each.category,
    value: each.self_time_ms ?? 0,
    text: `${duration(each.self_time_ms ?? 0, "ms")}, ${percent(each.self_time_frac ?? 0)}`,
  }));
  return (
    <>
      <ChartFrame
        title="What the host does for input"
        note="self time of input ops on all threads, over the whole recording"
        file={`${result.session} input host time`}
        table={() => (
          <PlainTable
            heads={["Category", "Self time", "Share", "Meaning"]}
            isNumeric={(column) => column === 1 || column === 2}
            rows={result.host_breakdown.map((each) => [
              each.category,
              each.self_time_ms === null ? MISSING : duration(each.self_time_ms, "ms"),
              each.self_time_frac === null ? MISSING : percent(each.self_time_frac),
              each.what,
            ])}
          />
        )}
      >
        <TopBars bars={bars} label="Host input time by category" />
      </ChartFrame>
      <section class="advice-list">
        <h3>How to reduce it</h3>
        <dl class="terms">
          {known.map((each) => (
            <div key={each.category}>
              <dt>{each.category}</dt>
              <dd>
                <span class="quiet">{each.what}</span> <Prose {...props} text={each.advice} />
              </dd>
            </div>
          ))}
        </dl>
      </section>
    </>
  );
}
