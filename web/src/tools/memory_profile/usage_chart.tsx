/** Use of one memory over time: stack, heap, free, fragmentation, each event under the pointer. */

import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { numbersOf, rowsWhere, textsOf } from "../../api/columns.ts";
import type { MemorySystem, MemoryTimeRow, TableOf } from "../../api/types.gen.ts";
import { bytes, fixed, MISSING, percent, plural } from "../../base/format.ts";
import { visible } from "../../base/text.ts";
import { byteTicks, momentTicks, shareTicks } from "../../engine/axes/ticks.ts";
import { greatest, stacked } from "../../engine/charts/curve.ts";
import { ChartFrame } from "../../widgets/charts/chart_frame.tsx";
import { type Line, LineChart, LineKey } from "../../widgets/charts/line_chart.tsx";
import { TipFacts } from "../../widgets/charts/tip_facts.tsx";
import { Grid } from "../../widgets/grid/grid.tsx";
import { useTable, useWithoutConstants } from "../sections/tool_page.tsx";
import { type MemoryProps, spanOf, spanSetter, wider } from "./props.ts";

type Rows = TableOf<MemoryTimeRow>;

/** Room above the greatest value, for the marker. */
const HEADROOM = 1.06;

interface UsageProps extends MemoryProps {
  readonly memory: MemorySystem;
  /** What changes to another view of the same use. */
  readonly views: ComponentChildren;
}

export function UsageChart(props: UsageProps) {
  const { result, memory, params, query, views } = props;
  const [whole, setWhole] = useState(false);
  const source = useMemo(() => {
    const memories = result.timeline.columns.memory;
    return rowsWhere(result.timeline, (row) => memories[row] === memory.id);
  }, [result, memory]);
  const { binding, said } = useWithoutConstants(
    useTable({ ...props, query: { ...query, memory: memory.id } }, "timeline", source),
  );
  const rows = source as unknown as Rows;
  const series = useMemo(() => seriesOf(rows, whole), [rows, whole]);
  const zoomed = Boolean(params.from_ms || params.to_ms);
  if (rows.rows === 0 && !zoomed) return <NothingOverTime memory={memory} />;
  const out = wider(props, memory, series.xs);
  return (
    <ChartFrame
      title="Use over time"
      note={`${thinning(rows.rows, result.timeline_events, result.memories.length)}; drag to zoom`}
      file={`${result.session} memory ${memory.id}`}
      controls={
        <>
          {views}
          {series.hasFree && (
            <button
              type="button"
              class="button"
              aria-pressed={whole}
              onClick={() => setWhole(!whole)}
            >
              Show free memory
            </button>
          )}
          {out && (
            <button type="button" class="button" onClick={out.onClick}>
              {out.label}
            </button>
          )}
        </>
      }
      table={() => (
        <>
          {said && <p class="quiet">{said}</p>}
          <Grid
            {...binding}
            label="Memory events"
            noun={["event", "events"]}
            maxRows={12}
            sums={false}
          />
        </>
      )}
    >
      {rows.rows > 0 ? (
        <Chart {...props} rows={rows} series={series} />
      ) : (
        <p class="quiet">No event of this memory in this time range.</p>
      )}
    </ChartFrame>
  );
}

interface PlotProps extends UsageProps {
  readonly rows: Rows;
  readonly series: Series;
}

function Chart(props: PlotProps) {
  const { memory, rows, series } = props;
  const { peak_time_ms: at, peak_bytes: peak } = memory;
  const { fragmentation } = series;
  return (
    <>
      <LineChart
        label={`Use of ${visible(memory.id)} over time, ${plural(rows.rows, "event")}`}
        xs={series.xs}
        lines={series.lines}
        stepwise
        span={spanOf(props, memory)}
        onSpan={spanSetter(props)}
        xName="time"
        xTicks={momentTicks}
        yTicks={byteTicks}
        top={series.top * HEADROOM}
        {...(fragmentation
          ? { right: { ticks: shareTicks, top: fragmentation, name: "fragmentation" } }
          : {})}
        markers={at === null ? [] : [{ x: at, y: peak, label: `peak ${bytes(peak)}` }]}
        tip={(row) => <EventTip rows={rows} row={row} />}
      />
      <LineKey lines={series.lines} />
    </>
  );
}

function thinning(shown: number, events: number, memories: number): string {
  // How many of all events are this memory's is only known where nothing was left out.
  if (memories > 1 || shown >= events) return plural(shown, "event");
  return `${plural(shown, "point")} of ${plural(events, "event")}, the highest of each interval`;
}

interface Series {
  readonly xs: Float64Array;
  readonly lines: readonly Line[];
  readonly top: number;
  readonly hasFree: boolean;
  /** Top of the right axis; 0 without fragmentation. */
  readonly fragmentation: number;
}

function seriesOf({ columns }: Rows, whole: boolean): Series {
  const inUse = numbersOf(columns.in_use_bytes);
  const layers = [
    { id: "stack", label: "Stack", hue: "hue-c", values: numbersOf(columns.stack_bytes) },
    { id: "heap", label: "Heap", hue: "hue-a", values: numbersOf(columns.heap_bytes) },
    { id: "free", label: "Free", hue: "hue-faint", values: numbersOf(columns.free_bytes) },
  ];
  const used = layers.slice(0, 2).filter(({ values }) => greatest(values) > 0);
  const hasFree = greatest(layers[2]?.values ?? []) > 0;
  const shown =
    used.length > 0
      ? [...used, ...(whole ? layers.slice(2) : [])]
      : [{ id: "use", label: "In use", hue: "hue-a", values: inUse }];
  const sums = stacked(shown.map(({ values }) => values));
  const areas = shown.map(
    (layer, i): Line => ({ ...layer, values: sums[i] as Float64Array, form: "area", axis: "left" }),
  );
  const shares = numbersOf(columns.fragmentation_frac);
  const most = greatest(shares);
  const fragmentation: Line = {
    id: "fragmentation",
    label: "Fragmentation of the free memory (right axis)",
    hue: "hue-b",
    values: shares,
    form: "line",
    axis: "right",
  };
  return {
    xs: numbersOf(columns.time_ms),
    // The tallest sum is painted first, the others over it.
    lines: [...areas.toReversed(), ...(most > 0 ? [fragmentation] : [])],
    top: greatest(sums.at(-1) ?? []),
    hasFree: hasFree && used.length > 0,
    fragmentation: most > 0 ? Math.min(1, most * HEADROOM) : 0,
  };
}

function signed(value: number | null): string {
  return value === null ? MISSING : `${value > 0 ? "+" : ""}${bytes(value)}`;
}

function EventTip({ rows, row }: { rows: Rows; row: number }) {
  const { columns } = rows;
  const text = (
    name: "event" | "op_name" | "region_type" | "data_type" | "shape" | "allocated_in",
  ) => textsOf([columns[name][row] ?? null])[0] ?? "";
  const size = (value: number | null | undefined) => (value == null ? MISSING : bytes(value));
  const fragmentation = columns.fragmentation_frac[row] ?? null;
  const step = columns.step[row] ?? null;
  const facts: readonly (readonly [string, string])[] = [
    ["Requested", signed(columns.requested_bytes[row] ?? null)],
    ["Allocated", signed(columns.allocation_bytes[row] ?? null)],
    ["Op", text("op_name")],
    ["Allocated in", text("allocated_in")],
    ["Step", step === null ? "" : String(step)],
    ["Region", text("region_type")],
    ["Data type", text("data_type")],
    ["Shape", text("shape")],
    ["Memory in use", size(columns.in_use_bytes[row])],
    ["Free", size(columns.free_bytes[row])],
    ["Fragmentation", fragmentation === null ? "" : percent(fragmentation)],
  ];
  return (
    <TipFacts
      title={text("event") || "sample"}
      aside={`${fixed(columns.time_ms[row] ?? 0, 3)} ms`}
      facts={facts.map(([label, value]) => [label, value === MISSING ? "" : value])}
    />
  );
}

function NothingOverTime({ memory }: { memory: MemorySystem }) {
  return (
    <section>
      <h2>Use over time</h2>
      <p class="quiet">
        {memory.source === "HLO buffer assignment"
          ? "This is the compiler's plan for one run of the program; use over time was not recorded. The Memory Viewer shows the plan in program order."
          : "No event of this memory has a time."}
      </p>
    </section>
  );
}
