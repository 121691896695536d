/** Batches of a model server: what a larger one costs, how full they are, every one of them. */

import { useMemo } from "preact/hooks";
import { rowsWhere, textsOf } from "../../api/columns.ts";
import { percent, plural } from "../../base/format.ts";
import { momentTicks, wholeTicks } from "../../engine/axes/ticks.ts";
import { greatest } from "../../engine/charts/curve.ts";
import { ChartFrame } from "../../widgets/charts/chart_frame.tsx";
import { type Line, LineChart, LineKey } from "../../widgets/charts/line_chart.tsx";
import { TipFacts } from "../../widgets/charts/tip_facts.tsx";
import { Grid } from "../../widgets/grid/grid.tsx";
import { useTable, useWithoutConstants } from "../sections/tool_page.tsx";
import { type InferenceProps, timeOf } from "./props.ts";

const HEADROOM = 1.08;
const US_PER_MS = 1000;

export function Batches(props: InferenceProps) {
  const { result } = props;
  const { binding, said } = useWithoutConstants(useTable(props, "batches", result.batches));
  if (result.batches.rows === 0) {
    return (
      <section>
        <h2>Batches</h2>
        <p class="quiet">
          No batches were recorded: the server handles requests one at a time, or batches outside
          the recording.
        </p>
      </section>
    );
  }
  return (
    <>
      <BySize {...props} />
      <section>
        <header class="section-head">
          <h2>Batches</h2>
          <p class="quiet">{said}</p>
        </header>
        <Grid {...binding} label="Batches" noun={["batch", "batches"]} sums={false} maxRows={12} />
      </section>
    </>
  );
}

/** Time over size, of the model with the most sizes where none is chosen. */
function BySize(props: InferenceProps) {
  const { result } = props;
  const { columns } = result.batch_sizes;
  const { binding } = useWithoutConstants(useTable(props, "batch_sizes", result.batch_sizes));
  const model = useMemo(() => mostFrequent(columns.model), [result]);
  const rows = useMemo(() => {
    const own = Array.from(columns.model.keys()).filter(
      (row) => columns.model[row] === model && columns.padded_size[row] != null,
    );
    return own.sort((a, b) => (columns.padded_size[a] ?? 0) - (columns.padded_size[b] ?? 0));
  }, [result, model]);
  const other = rowsWhere(result.batch_sizes, (row) => columns.model[row] !== model).rows;
  const table = <Grid {...binding} label="Batch sizes" noun={["size", "sizes"]} plain />;
  if (rows.length < 2) {
    return (
      <section>
        <h2>Batch sizes</h2>
        {table}
      </section>
    );
  }
  const lines = sizeLines(result, rows);
  const xs = Float64Array.from(rows, (row) => columns.padded_size[row] ?? 0);
  return (
    <ChartFrame
      title="Time by batch size"
      note={`${textsOf([model])[0]}${other > 0 ? "; choose a model to see another" : ""}`}
      file={`${result.session} batch sizes`}
      table={() => table}
    >
      <LineChart
        label={`Time of batches of ${plural(rows.length, "size")}`}
        xs={xs}
        lines={lines}
        stepwise={false}
        span={[0, xs[xs.length - 1] ?? 1]}
        xName="size"
        xTicks={wholeTicks}
        yTicks={momentTicks}
        top={greatest(lines[0]?.values ?? []) * HEADROOM}
        tip={(place) => <SizeTip result={result} row={rows[place] ?? 0} />}
      />
      <LineKey lines={lines} />
    </ChartFrame>
  );
}

type Result = InferenceProps["result"];

function sizeLines({ batch_sizes: { columns } }: Result, rows: readonly number[]): Line[] {
  const inMs = (cells: readonly (number | null)[]) =>
    Float64Array.from(rows, (row) => (cells[row] ?? Number.NaN) / US_PER_MS);
  return [
    {
      id: "batch",
      label: "Mean time of a batch",
      hue: "hue-a",
      values: inMs(columns.latency_mean_us),
      form: "line",
      axis: "left",
    },
    {
      id: "example",
      label: "Time per example",
      hue: "hue-b",
      values: inMs(columns.latency_per_example_us),
      form: "dashed",
      axis: "left",
    },
  ];
}

function SizeTip({ result, row }: { result: Result; row: number }) {
  const { columns } = result.batch_sizes;
  const padding = columns.padding_frac[row];
  return (
    <TipFacts
      title={plural(columns.padded_size[row] ?? 0, "example")}
      facts={[
        ["Batches", String(columns.batches[row] ?? "")],
        ["Mean time", timeOf(columns.latency_mean_us[row])],
        ["Per example", timeOf(columns.latency_per_example_us[row])],
        ["Device", timeOf(columns.device_compute_mean_us[row])],
        ["Padding", padding == null ? "" : percent(padding)],
      ]}
    />
  );
}

function mostFrequent(names: readonly (string | null)[]): string {
  const counts = new Map<string, number>();
  for (const name of names) if (name !== null) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0] ?? "";
}
