/** tf.data: whether a pipeline is the bottleneck, at which stage, and what to change. */

import { textsOf } from "../../api/columns.ts";
import type { Knob, TfDataBottleneckAnalysis } from "../../api/types.gen.ts";
import { duration, MISSING, percent, plural } from "../../base/format.ts";
import { visible } from "../../base/text.ts";
import { ChartFrame } from "../../widgets/charts/chart_frame.tsx";
import { TopBars } from "../../widgets/charts/top_bars.tsx";
import { type Fact, Figures } from "../../widgets/facts.tsx";
import { Grid } from "../../widgets/grid/grid.tsx";
import { PlainTable } from "../../widgets/plain_table.tsx";
import { Diagnostics } from "../sections/diagnostics.tsx";
import { Prose } from "../sections/prose.tsx";
import { useFirst, useTable, useWithoutConstants } from "../sections/tool_page.tsx";
import { TfDataGraph } from "./graph.tsx";
import type { TfDataProps } from "./props.ts";

const COLOURS = { input_bound: "input", healthy: "device", no_activity: "other" } as const;

export function TfData(props: TfDataProps) {
  const { result } = props;
  const [first, ...rest] = result.summary;
  return (
    <div class="tool-page">
      <header class={`verdict bound-${COLOURS[result.verdict]}`}>
        <h2 class="verdict-line">{first && <Prose {...props} text={first} />}</h2>
        {rest.map((text) => (
          <p key={text}>
            <Prose {...props} text={text} />
          </p>
        ))}
      </header>
      <Figures figures={figures(result)} />
      <WhatToChange {...props} />
      <Pipelines {...props} />
      <TfDataGraph {...props} />
      <FunctionOps {...props} />
      <Diagnostics diagnostics={result.diagnostics} />
    </div>
  );
}

function figures({ bottleneck, pipelines }: TfDataBottleneckAnalysis): Fact[] {
  const slow = pipelines.columns.slow_calls.reduce((sum: number, each) => sum + (each ?? 0), 0);
  const calls = pipelines.columns.calls.reduce((sum: number, each) => sum + (each ?? 0), 0);
  const time = (value: number | null) => (value === null ? MISSING : duration(value, "µs"));
  const some: Fact[] = [
    {
      label: "Slow calls",
      value: `${slow} of ${calls}`,
      note: `in ${plural(pipelines.rows, "pipeline")}; slow is longer than 50 µs`,
    },
  ];
  if (!bottleneck) {
    return [{ label: "Bottleneck", value: "none", note: "no stage limits the program" }, ...some];
  }
  return [
    {
      label: "Bottleneck",
      value: visible(bottleneck.iterator),
      note: `of ${visible(bottleneck.pipeline)} on ${visible(bottleneck.host)}`,
    },
    {
      label: "Waiting for it",
      value: time(bottleneck.self_time_us),
      note:
        bottleneck.self_time_frac === null
          ? "per call"
          : `per call, ${percent(bottleneck.self_time_frac)} of the wait`,
    },
    {
      label: "Slowest call",
      value: time(bottleneck.max_latency_us),
      note: "of the pipeline",
    },
    {
      label: "Waiting",
      value: bottleneck.wait_frac === null ? MISSING : percent(bottleneck.wait_frac),
      note: `of ${bottleneck.wait_of}`,
    },
    ...some,
  ];
}

function gainText({ gain_us: gain, gain_frac: share }: Knob): string {
  if (gain === null) return "not known";
  const part = share === null ? "" : `, ${percent(share)} of the time`;
  return `${duration(gain, "µs")}${part}`;
}

function WhatToChange(props: TfDataProps) {
  const { knobs, session } = props.result;
  if (knobs.length === 0) return null;
  const gains = knobs.filter((knob) => (knob.gain_us ?? 0) > 0);
  return (
    <section class="nested-gap">
      {gains.length > 0 ? (
        <ChartFrame
          title="What to change"
          note="predicted gain of each change by itself: per call, and as a share of the time between calls"
          file={`${session} tf.data gains`}
        >
          <TopBars
            label="Predicted gain of each change"
            bars={gains.map((knob) => ({
              label: knob.knob,
              value: knob.gain_us ?? 0,
              text: gainText(knob),
            }))}
          />
        </ChartFrame>
      ) : (
        <h2>What to change</h2>
      )}
      <Knobs {...props} knobs={knobs} />
    </section>
  );
}

function Knobs({ knobs, ...props }: TfDataProps & { readonly knobs: readonly Knob[] }) {
  return (
    <PlainTable
      kind="spaced"
      heads={["Change", "Predicted gain", "How", "Note"]}
      isNumeric={(column) => column === 1}
      rows={knobs.map((knob) => [
        knob.knob,
        gainText(knob),
        <Prose {...props} text={knob.change} />,
        <Prose {...props} text={knob.note} />,
      ])}
    />
  );
}

const FIRST = ["host", "name"];
const HOST = ["host"];
const NOTHING: readonly string[] = [];

function Pipelines(props: TfDataProps) {
  const { result } = props;
  const oneHost = new Set(result.pipelines.columns.host).size < 2;
  const { binding: pipelines, said } = useWithoutConstants(
    useFirst(useTable(props, "pipelines", result.pipelines), FIRST, oneHost ? HOST : NOTHING),
  );
  if (result.pipelines.rows === 0) return null;
  const names = textsOf(result.pipelines.columns.name);
  const bars = names.map((name, row) => ({
    label: `${name} on ${textsOf([result.pipelines.columns.host[row] ?? ""])[0]}`,
    value: result.pipelines.columns.max_us[row] ?? 0,
    text: `mean ${duration(result.pipelines.columns.mean_us[row] ?? Number.NaN, "µs")}, most ${duration(result.pipelines.columns.max_us[row] ?? Number.NaN, "µs")}`,
  }));
  const table = <Grid {...pipelines} label="Input pipelines" noun={["pipeline", "pipelines"]} />;
  return (
    <>
      {bars.length > 1 && (
        <ChartFrame
          title="Slowest call of each pipeline"
          file={`${result.session} tf.data pipelines`}
          table={() => <Grid {...pipelines} label="Input pipelines" plain />}
        >
          <TopBars bars={bars.slice(0, 16)} label="Slowest call of each pipeline" />
        </ChartFrame>
      )}
      <section>
        <header class="section-head">
          <h2>All input pipelines</h2>
          <p class="quiet">
            Host pipelines run the program's tf.data stages; device pipelines take batches from a
            host pipeline and copy them. {said}
          </p>
        </header>
        {table}
      </section>
    </>
  );
}

function FunctionOps(props: TfDataProps) {
  const { binding: ops, said } = useWithoutConstants(
    useTable(props, "function_ops", props.result.function_ops),
  );
  return (
    <section>
      <header class="section-head">
        <h2>Ops inside pipeline functions</h2>
        <p class="quiet">What map, filter and similar stages ran on tf.data's threads. {said}</p>
      </header>
      {ops.table.rows > 0 ? (
        <Grid {...ops} label="Function ops" noun={["op", "ops"]} maxRows={12} />
      ) : (
        <p class="quiet">
          No ops were recorded inside pipeline functions: there are none, or they are Python.
        </p>
      )}
    </section>
  );
}
