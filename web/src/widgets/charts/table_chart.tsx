/** A table as bars or lines, where its columns allow one. */

import type { ComponentChildren } from "preact";
import { duration, isTimeUnit, significant } from "../../base/format.ts";
import {
  byteTicks,
  momentTicks,
  shareTicks,
  type TicksOf,
  wholeTicks,
} from "../../engine/axes/ticks.ts";
import {
  answerChart,
  type BarsOf,
  type LinesOf,
  MOST_BARS,
} from "../../engine/charts/answer_chart.ts";
import { cellText } from "../../engine/table/cell_text.ts";
import type { NumberColumn, Table } from "../../engine/table/table.ts";
import { ChartFrame } from "./chart_frame.tsx";
import { type Line, LineChart, LineKey } from "./line_chart.tsx";
import { TopBars } from "./top_bars.tsx";

const HUES = ["hue-a", "hue-b", "hue-c", "hue-d", "hue-e", "hue-f"] as const;
const IN_MS: Readonly<Record<string, number>> = { ns: 1e-6, µs: 1e-3, ms: 1, s: 1e3 };
const HEADROOM = 1.05;

interface TableChartProps {
  readonly table: Table;
  /** Name of its file. */
  readonly file: string;
  /** Names of its columns by default. */
  readonly title?: string;
  readonly note?: string;
  /** A value holds until the next row. */
  readonly stepwise?: boolean;
  /** Its rows, shown instead of the chart. */
  readonly rows?: () => ComponentChildren;
}

export function TableChart(props: TableChartProps) {
  const chart = answerChart(props.table);
  if (!chart) return null;
  return chart.form === "bars" ? (
    <Bars {...props} chart={chart} />
  ) : (
    <Lines {...props} chart={chart} />
  );
}

function Bars({ chart, table: { rows }, file }: TableChartProps & { readonly chart: BarsOf }) {
  const { label, value } = chart;
  const shown = Math.min(rows, MOST_BARS);
  const bars = Array.from({ length: shown }, (_, row) => ({
    label: cellText(label, row),
    value: Math.max(0, value.values[row] || 0),
    text: textOf(value, row),
  }));
  const title = `${value.meta.label} by ${label.meta.label}`;
  return (
    <ChartFrame title={title} note={shown < rows ? `the first ${shown} rows` : ""} file={file}>
      <TopBars bars={bars} label={title} />
    </ChartFrame>
  );
}

function textOf(column: NumberColumn, row: number): string {
  const value = column.values[row] as number;
  const { unit } = column.meta;
  if (Number.isNaN(value)) return "";
  return isTimeUnit(unit) ? duration(value, unit) : significant(value);
}

function Lines(props: TableChartProps & { readonly chart: LinesOf }) {
  const { stepwise = false, note, file, rows } = props;
  const { x, ys } = props.chart;
  const xs = inMs(x);
  const lines: Line[] = ys.map((y, place) => ({
    id: y.meta.name,
    label: y.meta.label,
    hue: HUES[place] as string,
    values: inMs(y),
    form: "line",
    axis: "left",
  }));
  const top = Math.max(...lines.map((line) => Math.max(...finite(line.values))));
  const title =
    props.title ?? `${ys.map((y) => y.meta.label).join(", ")} over ${x.meta.label.toLowerCase()}`;
  return (
    <ChartFrame {...{ title, file }} {...(note ? { note } : {})} {...(rows ? { table: rows } : {})}>
      <LineChart
        label={title}
        xs={xs}
        lines={lines}
        stepwise={stepwise}
        span={[xs[0] ?? 0, xs[xs.length - 1] ?? 1]}
        xName={x.meta.label.toLowerCase()}
        xTicks={ticksOf(x)}
        yTicks={ticksOf(ys[0] as NumberColumn)}
        top={top * HEADROOM}
        tip={(row) => (
          <>
            {[x, ...ys].map((column) => (
              <div key={column.meta.name}>
                {column.meta.label}: {cellText(column, row)} {column.shown.unit}
              </div>
            ))}
          </>
        )}
      />
      {lines.length > 1 && <LineKey lines={lines} />}
    </ChartFrame>
  );
}

function finite(values: ArrayLike<number>): number[] {
  const found = Array.from(values).filter(Number.isFinite);
  return found.length > 0 ? found : [0];
}

/** Times in ms, the unit of axes; other values as they are. */
export function inMs(column: NumberColumn): Float64Array {
  const scale = IN_MS[column.meta.unit] ?? 1;
  return scale === 1 ? column.values : column.values.map((value) => value * scale);
}

/** Ticks that suit a column's values. */
export function ticksOf(column: NumberColumn): TicksOf {
  if (column.meta.unit in IN_MS) return momentTicks;
  if (column.meta.kind === "ratio") return shareTicks;
  return column.meta.kind === "bytes" ? byteTicks : wholeTicks;
}
