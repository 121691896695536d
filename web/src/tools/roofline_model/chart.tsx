/** Roofline: how close ops and the whole program come to what the device can do. */

import { useMemo } from "preact/hooks";
import { byName, numbersOf, rowsWhere, textsOf } from "../../api/columns.ts";
import type { RooflineRow, RooflineModel as RoofResult, TableOf } from "../../api/types.gen.ts";
import { duration, flopRate, MISSING, percent, plural, significant } from "../../base/format.ts";
import { type Ceiling, ceilingsOf } from "../../engine/charts/roofline.ts";
import type { Condition } from "../../engine/table/filter.ts";
import { arrange } from "../../engine/table/grid_view.ts";
import { ChartFrame } from "../../widgets/charts/chart_frame.tsx";
import { HueKey } from "../../widgets/charts/legend.tsx";
import { type Peak, type RoofDot, RooflineChart } from "../../widgets/charts/roofline_chart.tsx";
import { TipFacts } from "../../widgets/charts/tip_facts.tsx";
import { Grid } from "../../widgets/grid/grid.tsx";
import { type ToolPageProps, useTable } from "../sections/tool_page.tsx";

type RoofProps = ToolPageProps<RoofResult>;
type Rows = TableOf<RooflineRow>;

const X = "bottleneck_operational_intensity";
const Y = "flop_rate_gflops";

type Bound = NonNullable<RooflineRow["bound_by"][number]>;

/** Hues of what bounds an op, in the order of the key. */
const HUES: Readonly<Record<Bound, string>> = {
  Compute: "hue-a",
  HBM: "hue-b",
  "On-chip read": "hue-c",
  "On-chip write": "hue-d",
  Unknown: "hue-g",
};

function cell<K extends keyof RooflineRow>(rows: Rows, name: K, row: number) {
  return (rows.columns[name][row] ?? null) as RooflineRow[K][number] | null;
}

function rate(value: number | null): string {
  return value === null ? MISSING : flopRate(value);
}

function bandwidth(gbps: number | null): string {
  return gbps === null ? MISSING : `${significant(gbps)} GB/s`;
}

/** Bandwidth by the memory's name in the server's list of corners. */
function bandwidths({ device }: RoofResult): Readonly<Record<string, number | null>> {
  return {
    HBM: device.peak_hbm_bw_gbps,
    "On-chip read": device.peak_on_chip_read_bw_gbps,
    "On-chip write": device.peak_on_chip_write_bw_gbps,
  };
}

function namedCeilings(result: RoofResult) {
  const { memory, operational_intensity, flop_rate_gflops } = result.roofs.columns;
  return ceilingsOf(
    textsOf(memory),
    numbersOf(operational_intensity),
    numbersOf(flop_rate_gflops),
  ).map((ceiling) => named(ceiling, result));
}

function named(ceiling: Ceiling, result: RoofResult) {
  const known = bandwidths(result)[ceiling.memories[0] ?? ""] ?? null;
  const names = ceiling.memories.join(", ");
  return { ...ceiling, label: known === null ? names : `${names} ${bandwidth(known)}` };
}

/** The peak of each type; where no type's is known, the device's own peak. */
function peaksOf({ flop_peaks, device }: RoofResult): Peak[] {
  const { data_type, flop_rate_gflops } = flop_peaks.columns;
  const rates = numbersOf(flop_rate_gflops);
  const types = textsOf(data_type).map((name, row) => ({ name, rate: rates[row] as number }));
  const most = device.peak_gflops;
  const known = most === null || types.some((type) => type.rate === most);
  return [...(known ? [] : [{ name: "", rate: most }]), ...types].map(({ name, rate }) => ({
    rate,
    label: `${name ? `${name} peak` : "peak"} ${flopRate(rate)}`,
  }));
}

interface Drawn {
  readonly rows: Rows;
  /** Row of each dot in `rows`; -1 for the whole program. */
  readonly places: readonly number[];
  readonly dots: readonly RoofDot[];
}

function drawn(result: RoofResult, shown: Uint32Array): Drawn {
  const { ops, programs } = result;
  const xs = numbersOf(ops.columns[X]);
  const ys = numbersOf(ops.columns[Y]);
  const roofs = numbersOf(ops.columns.optimal_flop_rate_gflops);
  const bounds = ops.columns.bound_by;
  const places = Array.from(shown).filter(
    (row) => (xs[row] as number) > 0 && (ys[row] as number) > 0,
  );
  // Small dots over large ones.
  places.sort(
    (a, b) => (ops.columns.self_time_frac[b] ?? 0) - (ops.columns.self_time_frac[a] ?? 0),
  );
  const dots = places.map(
    (row): RoofDot => ({
      x: xs[row] as number,
      y: ys[row] as number,
      share: ops.columns.self_time_frac[row] ?? 0,
      roof: roofs[row] as number,
      roofLabel: shareOf(ops, row),
      hue: HUES[bounds[row] ?? "Unknown"],
      whole: false,
    }),
  );
  const [x, y] = [cell(programs, X, 0) ?? 0, cell(programs, Y, 0) ?? 0];
  const whole: RoofDot = {
    x,
    y,
    share: 1,
    roof: cell(programs, "optimal_flop_rate_gflops", 0) ?? Number.NaN,
    roofLabel: shareOf(programs, 0),
    hue: "hue-fg",
    whole: true,
  };
  return { rows: ops, places: [...places, -1], dots: x > 0 && y > 0 ? [...dots, whole] : dots };
}

/** How far a row has come to its roof, in words; "" where that is not known. */
function shareOf(rows: Rows, row: number): string {
  const share = cell(rows, "roofline_efficiency_frac", row);
  return share === null ? "" : `${percent(share)} of its roof`;
}

/** The ops that the table below shows, which shares its filters. */
export function Roofline(props: RoofProps) {
  const { result } = props;
  const { table, view, onView } = useTable(props, "ops", result.ops);
  const shown = useMemo(() => arrange(table, view).rows, [table, view]);
  const picture = useMemo(() => drawn(result, shown), [result, shown]);
  const ceilings = useMemo(() => namedCeilings(result), [result]);
  const peaks = useMemo(() => peaksOf(result), [result]);
  const drawnOps = useTable(
    props,
    "ops",
    useMemo(() => {
      const kept = new Set(picture.places);
      return rowsWhere(byName(result.ops), (row) => kept.has(row));
    }, [picture, result]),
    "drawn",
  );
  const ops = picture.places.length - 1;
  const left = shown.length - ops;
  if (picture.dots.length === 0) {
    return (
      <section>
        <h2>Roofline</h2>
        <p class="quiet">
          None of the {plural(shown.length, "op")} shown has both FLOPs and bytes, so none can be
          placed.
        </p>
      </section>
    );
  }
  const filter = (extra: readonly Condition[]) => {
    const rest = view.conditions.filter((one) => !extra.some((each) => each.column === one.column));
    onView({ ...view, conditions: [...rest, ...extra] });
  };
  const note = [
    plural(ops, "op"),
    left > 0 ? `${plural(left, "other")} without FLOPs or bytes` : "",
    "area by time; drag a rectangle to filter the table",
  ];
  return (
    <ChartFrame
      title="Roofline"
      note={note.filter(Boolean).join("; ")}
      file={`${result.session} roofline`}
      table={() => <Grid {...drawnOps} label="Ops drawn" noun={["op", "ops"]} maxRows={14} />}
    >
      <RooflineChart
        label={`Roofline of ${plural(ops, "op")}: FLOP rate over operational intensity`}
        dots={picture.dots}
        ceilings={ceilings}
        peaks={peaks}
        tip={(index) => <DotTip result={result} row={picture.places[index] ?? -1} />}
        onChoose={(index) => {
          const row = picture.places[index] ?? -1;
          const [name = ""] = textsOf([cell(result.ops, "operation", row)]);
          if (name) filter([{ column: "operation", relation: "=", value: name }]);
        }}
        onBox={(x, y) => filter([...within(X, x), ...within(Y, y)])}
      />
      <HueKey
        items={[
          ...Object.entries(HUES)
            .filter(([, hue]) => picture.dots.some((dot) => dot.hue === hue))
            .map(([bound, hue]) => ({ label: `Bound by: ${bound}`, hue })),
          { label: "◆ the whole program", hue: "" },
        ]}
      />
    </ChartFrame>
  );
}

/** Conditions of the table that a column lies between two values. */
function within(column: string, [from, to]: readonly [number, number]): Condition[] {
  return [
    { column, relation: ">=", value: from.toPrecision(4) },
    { column, relation: "<=", value: to.toPrecision(4) },
  ];
}

function DotTip({ result, row }: { result: RoofResult; row: number }) {
  const whole = row < 0;
  const rows = whole ? result.programs : result.ops;
  const at = whole ? 0 : row;
  const share = (name: "roofline_efficiency_frac" | "self_time_frac") => {
    const value = cell(rows, name, at);
    return value === null ? "" : percent(value);
  };
  const time = cell(rows, whole ? "total_time_us" : "self_time_us", at);
  const facts: readonly (readonly [string, string])[] = [
    ["Category", whole ? "" : (cell(rows, "category", at) ?? "")],
    [whole ? "Time" : "Self time", time === null ? "" : duration(time, "µs")],
    ["Share", whole ? "" : share("self_time_frac")],
    ["FLOP rate", rate(cell(rows, "flop_rate_gflops", at))],
    ["Intensity", `${significant(cell(rows, X, at) ?? Number.NaN)} FLOP/B`],
    ["Bandwidth", bandwidth(cell(rows, "memory_bw_gbps", at))],
    ["Limited by", cell(rows, "bound_by", at) ?? ""],
    ["Share of roof", share("roofline_efficiency_frac")],
  ];
  return (
    <TipFacts
      title={whole ? "Whole program" : (textsOf([cell(rows, "operation", at)])[0] ?? "")}
      facts={facts}
    />
  );
}
