/** Inference: how long requests take, what they wait for, and how well batches are used. */

import { useMemo } from "preact/hooks";
import { numbersOf, textsOf } from "../../api/columns.ts";
import type { InferenceProfile as InferenceResult } from "../../api/types.gen.ts";
import { count, duration, percent, plural, significant } from "../../base/format.ts";
import { momentTicks, shareTicks } from "../../engine/axes/ticks.ts";
import { greatest } from "../../engine/charts/curve.ts";
import { ChartFrame } from "../../widgets/charts/chart_frame.tsx";
import { type Line, LineChart, LineKey } from "../../widgets/charts/line_chart.tsx";
import { TipFacts } from "../../widgets/charts/tip_facts.tsx";
import type { Fact } from "../../widgets/facts.tsx";
import { Grid } from "../../widgets/grid/grid.tsx";
import { Picker } from "../../widgets/overlay/picker.tsx";
import { ToolFrame } from "../sections/frame.tsx";
import { TableSection } from "../sections/table_section.tsx";
import { useTable } from "../sections/tool_page.tsx";
import { Batches } from "./batches.tsx";
import { type InferenceProps, timeOf } from "./props.ts";

const HEADROOM = 1.06;
const US_PER_MS = 1000;

export function InferenceProfile(props: InferenceProps) {
  const { result } = props;
  return (
    <ToolFrame
      headline={headline(result)}
      figures={figures(result)}
      result={result}
      picker={<ModelPicker {...props} />}
    >
      <Latencies {...props} />
      <Batches {...props} />
      <TableSection
        {...props}
        field="models"
        title="Models"
        none=""
        noun={["model", "models"]}
        source={result.models}
      />
      <TableSection
        {...props}
        field="requests"
        title="Requests"
        note="Devices at work for several requests at once count for each"
        none=""
        noun={["request", "requests"]}
        source={result.requests}
        main
        sums={false}
      />
    </ToolFrame>
  );
}

function headline({ models: { columns } }: InferenceResult): string {
  const [half, last] = [columns.latency_p50_us[0], columns.latency_p99_us[0]];
  if (half == null || last == null) return "No request ended within the recording.";
  return `Half of the requests take up to ${timeOf(half)}, one in a hundred more than ${timeOf(last)}.`;
}

function figures({ models: { columns } }: InferenceResult): Fact[] {
  const rate = columns.requests_per_s[0];
  const [device, queued] = [columns.device_mean_us[0], columns.queued_mean_us[0]];
  return [
    {
      label: "Requests",
      value: count(columns.requests[0] ?? 0),
      note: rate == null ? "rate not known" : `${significant(rate)} per second`,
    },
    {
      label: "Median latency",
      value: timeOf(columns.latency_p50_us[0]),
      note: `mean ${timeOf(columns.latency_mean_us[0])}`,
    },
    {
      label: "90th percentile",
      value: timeOf(columns.latency_p90_us[0]),
      note: `75% below ${timeOf(columns.latency_p75_us[0])}`,
    },
    {
      label: "99th percentile",
      value: timeOf(columns.latency_p99_us[0]),
      note: `slowest ${timeOf(columns.latency_max_us[0])}`,
    },
    {
      label: "Device time",
      value: timeOf(device),
      note: `mean; ${queued == null ? "no batches recorded" : `${timeOf(queued)} waiting for a batch`}`,
    },
  ];
}

/** Models are known while none is chosen; then only that one is, and the way back. */
function ModelPicker({ result, query, params, onParams }: InferenceProps) {
  const chosen = query.model ?? "";
  const served = [...new Set(result.requests.columns.model.filter((model) => model !== null))];
  const names = chosen && !served.includes(chosen) ? [chosen, ...served] : served;
  if (names.length < 2 && !chosen) return null;
  return (
    <Picker
      what="Model"
      name="Models"
      placeholder="Find a model"
      current={chosen || "all"}
      onChoose={(id) => onParams({ ...params, model: id === "all" ? "" : id })}
      choices={[
        { id: "all", label: "All models" },
        ...names.map((name) => ({ id: name, label: textsOf([name])[0] ?? "" })),
      ]}
    />
  );
}

/** Latency over the share of requests that are at most as slow: every percentile at once. */
function Latencies(props: InferenceProps) {
  const { result } = props;
  const binding = useTable(props, "requests", result.requests, "latencies");
  const { order, xs, lines } = useMemo(() => risingLatencies(result), [result]);
  if (order.length === 0) return null;
  return (
    <ChartFrame
      title="Latency by percentile"
      note={plural(order.length, "request")}
      file={`${result.session} latency`}
      table={() => (
        <Grid
          {...binding}
          label="Requests by latency"
          noun={["request", "requests"]}
          maxRows={12}
          sums={false}
        />
      )}
    >
      <LineChart
        label={`Latency of ${plural(order.length, "request")} by percentile`}
        xs={xs}
        lines={lines}
        stepwise={false}
        span={[0, 1]}
        xName="percentile"
        xTicks={shareTicks}
        yTicks={momentTicks}
        top={greatest(lines[0]?.values ?? []) * HEADROOM}
        tip={(place) => (
          <RequestTip result={result} row={order[place] ?? 0} share={xs[place] ?? 0} />
        )}
      />
      <LineKey lines={lines} />
    </ChartFrame>
  );
}

/** Requests from the fastest to the slowest; the table has them the other way round. */
function risingLatencies({ requests: { columns } }: InferenceResult) {
  const latencies = numbersOf(columns.latency_us);
  const order = Array.from(latencies.keys()).filter((row) => !Number.isNaN(latencies[row]));
  order.sort((a, b) => (latencies[a] as number) - (latencies[b] as number));
  const inMs = (cells: readonly (number | null)[]) =>
    Float64Array.from(order, (row) => (cells[row] ?? Number.NaN) / US_PER_MS);
  const lines: Line[] = [
    {
      id: "latency",
      label: "Latency",
      hue: "hue-a",
      values: inMs(columns.latency_us),
      form: "area",
      axis: "left",
    },
    {
      id: "queued",
      label: "of which waiting for a batch",
      hue: "hue-b",
      values: inMs(columns.queued_us),
      form: "line",
      axis: "left",
    },
  ];
  return {
    order,
    xs: Float64Array.from(order, (_, place) => (place + 1) / order.length),
    lines: lines.filter(({ values }) => greatest(values) > 0),
  };
}

interface RequestTipProps {
  readonly result: InferenceResult;
  readonly row: number;
  /** Of requests at most as slow. */
  readonly share: number;
}

function RequestTip({ result, row, share }: RequestTipProps) {
  const { columns } = result.requests;
  const size = columns.size[row];
  return (
    <TipFacts
      title={`${percent(share)} take at most ${timeOf(columns.latency_us[row])}`}
      facts={[
        ["Model", textsOf([columns.model[row] ?? ""])[0] ?? ""],
        ["Size", size == null ? "" : plural(size, "example")],
        ["Waited", known(columns.queued_us[row])],
        ["Device", known(columns.device_compute_us[row])],
        ["Copies", copies(result, row)],
        ["Host", known(columns.host_us[row])],
        ["Started", duration(columns.start_ms[row] ?? Number.NaN, "ms")],
      ]}
    />
  );
}

function known(us: number | null | undefined): string {
  return us == null ? "" : duration(us, "µs");
}

function copies({ requests: { columns } }: InferenceResult, row: number): string {
  const [to, from] = [columns.host_to_device_us[row], columns.device_to_host_us[row]];
  if (to == null && from == null) return "";
  return `${timeOf(to)} to the device, ${timeOf(from)} back`;
}
