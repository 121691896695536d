/** Columns of a table as lines over another of its columns; a point of it can be chosen. */

import { useMemo } from "preact/hooks";
import { rowsWhere } from "../../api/columns.ts";
import type { LineChart as LineChartPanel } from "../../api/types.gen.ts";
import type { ColumnarTable } from "../../base/columns.ts";
import { fieldLabel } from "../../base/fields.ts";
import { withUnits } from "../../base/text.ts";
import { greatest } from "../../engine/charts/curve.ts";
import { filled, type ValueOf } from "../../engine/page/template.ts";
import { fullText, headingText } from "../../engine/table/cell_text.ts";
import { columnOf, type NumberColumn } from "../../engine/table/table.ts";
import { ChartFrame } from "../../widgets/charts/chart_frame.tsx";
import { type Line, LineChart, LineKey } from "../../widgets/charts/line_chart.tsx";
import { inMs, ticksOf } from "../../widgets/charts/table_chart.tsx";
import { TipFacts } from "../../widgets/charts/tip_facts.tsx";
import { Grid } from "../../widgets/grid/grid.tsx";
import type { Params } from "../sections/page_link.ts";
import { TableSection } from "../sections/table_section.tsx";
import { useTable, useWithoutConstants } from "../sections/tool_page.tsx";
import { type PanelProps, tableAt, Unfilled } from "./panel.tsx";

/** The place of the chosen point in the address. */
const CHOSEN = "view.point";
const HEADROOM = 1.06;
const HUES = ["hue-a", "hue-b", "hue-c"] as const;
const EMPTY: ColumnarTable = { rows: 0, columns: {} };

/** The chosen point of the course over a table: its row, its place, and the row before it. */
export function chosenRow(field: string, values: ValueOf, params: Params) {
  const { rows, columns } = tableAt(values, field) ?? EMPTY;
  const xs = Object.values(columns)[0] ?? [];
  const wanted = Number(params[CHOSEN] ?? Number.NaN);
  const row =
    wanted >= 0 && wanted < rows ? wanted : Math.max(0, xs.indexOf(values("peak_step") as number));
  const before = Object.fromEntries(
    Object.entries(columns).map(([name, cells]) => [name, cells[row - 1]]),
  );
  return { row, x: Number(xs[row] ?? 0), before };
}

export function Course(props: PanelProps<LineChartPanel>) {
  const { panel, tool, result, values, params, onParams } = props;
  const { field, columns, noun, by } = panel;
  const whole = tableAt(values, field) ?? EMPTY;
  const most = useMemo(() => mostFrequent(whole.columns[by] ?? []), [whole, by]);
  const source = useMemo(() => rising(whole, columns[0] ?? "", by, most), [whole, by, most]);
  const binding = useTable(props, field, source, `${field}.course`);
  const all = useWithoutConstants(useTable(props, field, whole, `${field}.course`));
  const { table } = binding;
  const [x, ...ys] = columns.map((name) => columnOf(table, name)) as (NumberColumn | undefined)[];
  const lines = useMemo(() => linesOf(ys, !by), [table]);
  const text = (template: string) =>
    withUnits(
      filled(
        template,
        (path) => (path === "by" ? most : path === "count" ? source.rows : values(path)),
        tool.words,
      ) ?? "",
    );
  const title = text(panel.title) || fieldLabel(tool.labels, field);
  if (!x || source.rows < 2) {
    return panel.none ? (
      <Unfilled title={title} none={text(panel.none)} />
    ) : (
      <TableSection {...props} {...{ field, title, source: whole }} />
    );
  }
  const xs = inMs(x);
  const top = columnOf(table, columns[1] ?? "") as NumberColumn;
  const [at, size] = panel.marker.map((name) => Number(values(name)));
  return (
    <ChartFrame
      title={title}
      note={text(panel.note)}
      file={`${result.session} ${field}`}
      table={() => (
        <Grid
          {...all.binding}
          noun={noun as [string, string]}
          label={title}
          sums={false}
          maxRows={12}
        />
      )}
    >
      <LineChart
        label={text(panel.label)}
        xs={xs}
        lines={lines}
        stepwise={panel.stepwise}
        span={[
          panel.stepwise || x.meta.kind === "time" ? (xs[0] ?? 0) : 0,
          (xs.at(-1) ?? 1) + (panel.stepwise ? 1 : 0),
        ]}
        xName={x.meta.label.toLowerCase()}
        xTicks={ticksOf(x)}
        yTicks={ticksOf(top)}
        top={greatest(inMs(top)) * HEADROOM}
        {...(at === undefined || size === undefined
          ? {}
          : { markers: [{ x: at, y: size, label: text(panel.marked) }] })}
        {...(panel.chooses
          ? {
              chosen: chosenRow(field, values, params).row,
              onChoose: (row: number) => onParams({ ...params, [CHOSEN]: String(row) }),
            }
          : {})}
        tip={(row) => (
          <TipFacts
            title={filled(panel.tip, (path) => source.columns[path]?.[row], tool.words) ?? ""}
            facts={table.columns
              .filter(
                (column) => !column.meta.hidden && source.columns[column.meta.name]?.[row] != null,
              )
              .map((column) => [headingText(column), fullText(column, row)])}
          />
        )}
      />
      {lines.length > 1 && <LineKey lines={lines} />}
    </ChartFrame>
  );
}

/** The rows in which a number is known, by that number; of several things those of one. */
function rising(table: ColumnarTable, name: string, by: string, most: unknown): ColumnarTable {
  const xs = table.columns[name] ?? [];
  const own = rowsWhere(
    table,
    (row) => typeof xs[row] === "number" && (!by || table.columns[by]?.[row] === most),
  );
  const places = (own.columns[name] ?? []) as readonly number[];
  const order = Array.from(places.keys()).sort(
    (a, b) => (places[a] as number) - (places[b] as number),
  );
  const columns = Object.entries(own.columns).map(([each, cells]) => [
    each,
    order.map((row) => cells[row]),
  ]);
  return { rows: own.rows, columns: Object.fromEntries(columns) };
}

/** Lines over each other; the first as an area where the others are parts of it. */
function linesOf(ys: readonly (NumberColumn | undefined)[], hasParts: boolean): Line[] {
  const known = ys.filter((y) => y !== undefined && y.available > 0 && y.max > 0) as NumberColumn[];
  // What equals the first line in every point would hide it.
  const distinct = known.filter(
    (y, place) => place === 0 || !y.values.every((value, i) => value === known[0]?.values[i]),
  );
  return distinct.map((y, place) => ({
    id: y.meta.name,
    label: y.meta.label,
    hue: HUES[place % HUES.length] as string,
    values: inMs(y),
    form: place > 0 ? (hasParts ? "line" : "dashed") : hasParts ? "area" : "line",
    axis: "left",
  }));
}

function mostFrequent(cells: readonly unknown[]): unknown {
  const counts = new Map<unknown, number>();
  for (const cell of cells) counts.set(cell, (counts.get(cell) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0];
}
