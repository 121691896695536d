/** Several runs: how the step time went from the baseline to this run, and what changed at each. */

import { useMemo } from "preact/hooks";
import { numbersOf, textsOf } from "../../api/columns.ts";
import type { RunRow, TableOf } from "../../api/types.gen.ts";
import { bytes, duration, percent, plural, signedDuration } from "../../base/format.ts";
import { visible } from "../../base/text.ts";
import { byteTicks, momentTicks, placeTicks } from "../../engine/axes/ticks.ts";
import { greatest } from "../../engine/charts/curve.ts";
import { seriesFrom } from "../../engine/run_series.ts";
import { ChartFrame } from "../../widgets/charts/chart_frame.tsx";
import { type Line, LineChart, LineKey } from "../../widgets/charts/line_chart.tsx";
import { TipFacts } from "../../widgets/charts/tip_facts.tsx";
import { Grid } from "../../widgets/grid/grid.tsx";
import { optionOf, useTable } from "../sections/tool_page.tsx";
import type { CompareProps } from "./props.ts";

type Runs = TableOf<RunRow>;

/** Room above the greatest value. */
const HEADROOM = 1.08;
const NAME_PX = 140;

export function RunSeries(props: CompareProps) {
  const { result, params, query, onParams, runs } = props;
  const baseline = optionOf(props, "baseline");
  const between = optionOf(props, "between");
  const binding = useTable(props, "runs", result.runs);
  if (runs.length < 3) return null;
  const series = seriesFrom(runs, query.run ?? "", baseline.value);
  const isShown = between.value === "true" && series?.from === baseline.value;
  const toggle = series && (
    <button
      type="button"
      class="button"
      aria-pressed={isShown}
      onClick={() => onParams({ ...params, baseline: series.from, between: isShown ? "" : "true" })}
    >
      {series.name}
    </button>
  );
  if (!isShown || result.runs.rows < 3) {
    return (
      <section>
        <header class="section-head">
          <h2>Step time from run to run</h2>
          <p class="quiet">
            {isShown
              ? "No comparable run was recorded between these two."
              : `There are ${plural(runs.length, "run")} here.`}
            {!series && " Compare with the oldest or the newest to see all of them in one chart."}
          </p>
          {toggle}
        </header>
      </section>
    );
  }
  return (
    <ChartFrame
      title="Step time from run to run"
      note="Mean of each run with its 99% interval; click a run to compare with it."
      file={`compare-runs ${result.session}`}
      controls={toggle}
      table={() => (
        <Grid {...binding} label="Runs" noun={["run", "runs"]} maxRows={16} sums={false} />
      )}
    >
      <SeriesChart
        runs={result.runs}
        onChoose={(run) => run !== result.candidate.name && baseline.onValue(run)}
      />
    </ChartFrame>
  );
}

interface SeriesChartProps {
  readonly runs: Runs;
  readonly onChoose: (run: string) => void;
}

function SeriesChart({ runs, onChoose }: SeriesChartProps) {
  const { columns } = runs;
  const names = textsOf(columns.run);
  const { lines, top, memory } = useMemo(() => linesOf(runs), [runs]);
  return (
    <>
      <LineChart
        label={`Step time of ${plural(runs.rows, "run")}`}
        xs={Float64Array.from(names, (_, place) => place)}
        lines={lines}
        stepwise={false}
        span={[-0.5, runs.rows - 0.5]}
        xName="run"
        xTicks={placeTicks(names.map(visible), NAME_PX)}
        yTicks={momentTicks}
        top={top * HEADROOM}
        {...(memory > 0
          ? { right: { ticks: byteTicks, top: memory * HEADROOM, name: "peak memory" } }
          : {})}
        onChoose={(place) => onChoose(names[place] ?? "")}
        tip={(place) => <RunTip runs={runs} place={place} />}
      />
      <LineKey lines={lines.filter(({ label }) => label)} />
    </>
  );
}

interface Series {
  readonly lines: readonly Line[];
  /** Greatest step time, ms. */
  readonly top: number;
  /** Greatest peak of memory, bytes; 0 when not recorded. */
  readonly memory: number;
}

function linesOf({ columns }: Runs): Series {
  const high = numbersOf(columns.high_ms);
  const times = numbersOf(columns.step_time_ms);
  const peaks = numbersOf(columns.peak_memory_bytes);
  const memory = greatest(peaks);
  const bound = { hue: "hue-faint", form: "dashed", axis: "left" } as const;
  const lines: Line[] = [
    { id: "low", label: "99% interval", values: numbersOf(columns.low_ms), ...bound },
    { id: "high", label: "", values: high, ...bound },
    {
      id: "time",
      label: "Step time",
      hue: "hue-a",
      values: times,
      form: "line",
      axis: "left",
      dots: true,
    },
  ];
  if (memory > 0) {
    lines.push({
      id: "memory",
      label: "Peak memory (right axis)",
      hue: "hue-b",
      values: peaks,
      form: "line",
      axis: "right",
      dots: true,
    });
  }
  return { lines, top: Math.max(greatest(times), greatest(high)), memory };
}

function RunTip({ runs: { columns }, place }: { runs: Runs; place: number }) {
  const ms = (value: number | null | undefined) => (value == null ? "" : duration(value, "ms"));
  const low = ms(columns.low_ms[place]);
  const delta = columns.delta_ms[place];
  const share = columns.delta_frac[place];
  const noise = { no: " (no certain change)", unknown: " (too few steps to tell)" }[
    String(columns.significant[place])
  ];
  const memory = columns.peak_memory_bytes[place];
  return (
    <TipFacts
      title={visible(String(columns.run[place]))}
      aside={ms(columns.step_time_ms[place])}
      facts={[
        ["Interval", low && `${low} to ${ms(columns.high_ms[place])}`],
        ["Median", ms(columns.median_ms[place])],
        ["Steps", String(columns.steps[place] ?? "")],
        [
          "Change from the first run",
          delta == null || share == null
            ? ""
            : `${signedDuration(delta, "ms")}, ${share > 0 ? "+" : ""}${percent(share)}${noise ?? ""}`,
        ],
        ["Change from the previous run", visible(String(columns.main_change[place] ?? ""))],
        ["Peak memory", memory == null ? "" : bytes(memory)],
      ]}
    />
  );
}
