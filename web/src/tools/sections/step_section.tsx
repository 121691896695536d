/** Steps as a chart, with its zoom in the address, or as a table. */

import { useMemo, useState } from "preact/hooks";
import { byName } from "../../api/columns.ts";
import type { AnyTable, ColumnarTable } from "../../base/columns.ts";
import type { Labels } from "../../base/fields.ts";
import { duration, plural } from "../../base/format.ts";
import { partsFor } from "../../base/parts.ts";
import { readableTop } from "../../engine/charts/stacked_columns.ts";
import type { StepSeries } from "../../engine/charts/step_series.ts";
import { ChartFrame } from "../../widgets/charts/chart_frame.tsx";
import { StepChart, type StepRange } from "../../widgets/charts/step_chart.tsx";
import { PartKey } from "../../widgets/charts/textures.tsx";
import { Grid } from "../../widgets/grid/grid.tsx";
import { RowDetails } from "../../widgets/grid/row_details.tsx";
import { type ToolPageProps, useTable } from "./tool_page.tsx";

const NOT_PARTS: ReadonlySet<string> = new Set(["start_ms", "step_time_ms"]);

/** Steps in the order of the table, with only those parts that take any time. */
export function stepSeries(source: ColumnarTable, labels: Labels): StepSeries {
  const numbers = (name: string): Float64Array =>
    Float64Array.from(source.columns[name] ?? [], (cell) => (typeof cell === "number" ? cell : 0));
  const partColumns = Object.keys(source.columns).filter(
    (name) => name.endsWith("_ms") && !NOT_PARTS.has(name),
  );
  const layers = partsFor(
    partColumns.map((name) => name.slice(0, -"_ms".length)),
    labels,
  )
    .map((part) => ({ part, values: numbers(`${part.id}_ms`) }))
    .filter(({ values }) => values.some((value) => value > 0));
  return {
    numbers: numbers("step_num"),
    totals: numbers("step_time_ms"),
    layers,
    kept: (source.columns.kept ?? []).map((cell) => cell !== false),
  };
}

function readRange(text: string | undefined, steps: number): StepRange {
  const [from = Number.NaN, to = Number.NaN] = (text ?? "").split("-").map(Number);
  const valid = from >= 0 && to > from && to < steps;
  return valid ? [from, to] : [0, steps - 1];
}

export interface StepSectionProps extends ToolPageProps {
  /** The field of the result that holds the steps. */
  readonly field: string;
  readonly source: AnyTable;
  readonly medianMs: number | null;
}

/** Whether a table holds steps with their times, each step once. */
export function isStepTable(source: ColumnarTable): boolean {
  const { step_num: numbers, step_time_ms: times } = source.columns;
  return numbers !== undefined && times !== undefined && new Set(numbers).size === numbers.length;
}

/** Two columns do not show how steps vary. */
const FEWEST_FOR_A_CHART = 3;

/** What a chart of one or two steps would say, as a sentence. */
function FewSteps(props: StepSectionProps & { readonly series: StepSeries }) {
  const { field, source, series } = props;
  const binding = useTable(props, field, source);
  const times = Array.from(series.totals, (ms) => duration(ms, "ms")).join(" and ");
  return (
    <section>
      <h2>Step times</h2>
      <p>
        {plural(source.rows, "step")}: {times}. That is too few to show how steps vary; record more
        of them.
      </p>
      <details class="few-steps">
        <summary>Show as table</summary>
        <Grid {...binding} label="Steps" noun={["step", "steps"]} />
      </details>
    </section>
  );
}

export function StepSection(props: StepSectionProps) {
  const { result, params, onParams, field, source } = props;
  const series = useMemo(() => stepSeries(byName(source), props.tool.labels), [source, props.tool]);
  const binding = useTable(props, field, source);
  const [whole, setWhole] = useState(false);
  const [chosen, setChosen] = useState(-1);
  const range = readRange(params.steps, source.rows);
  const zoomed = range[1] - range[0] + 1 < source.rows;
  const onRange = (next: StepRange | null) =>
    onParams({ ...params, steps: next ? `${next[0]}-${next[1]}` : "" });
  const { cut } = useMemo(
    () => readableTop(series.totals.subarray(range[0], range[1] + 1)),
    [series, range[0], range[1]],
  );
  if (source.rows === 0) return null;
  if (source.rows < FEWEST_FOR_A_CHART) return <FewSteps {...props} series={series} />;
  const controls = (
    <>
      {cut > 0 && (
        <button type="button" class="button" aria-pressed={whole} onClick={() => setWhole(!whole)}>
          {whole ? "Clip tall steps" : "Show tall steps in full"}
        </button>
      )}
      {zoomed && (
        <button type="button" class="button" onClick={() => onRange(null)}>
          All {plural(source.rows, "step")}
        </button>
      )}
    </>
  );
  const note = [
    zoomed ? `${plural(range[1] - range[0] + 1, "step")} of ${source.rows}` : "",
    cut > 0 && !whole ? `${plural(cut, "step is", "steps are")} taller than the axis (▲)` : "",
    series.kept.includes(false) ? "pale steps are not counted" : "",
    "click a step for details, drag to zoom",
  ];
  return (
    <ChartFrame
      title="Step times"
      note={note.filter(Boolean).join("; ")}
      file={`${result.session} steps`}
      controls={controls}
      table={() => <Grid {...binding} label="Steps" noun={["step", "steps"]} maxRows={12} />}
    >
      <StepChart
        series={series}
        range={range}
        onRange={onRange}
        medianMs={props.medianMs}
        whole={whole}
        onChoose={setChosen}
      />
      {chosen >= 0 && (
        <RowDetails table={binding.table} row={chosen} onClose={() => setChosen(-1)}>
          {binding.details(chosen)}
        </RowDetails>
      )}
      {series.layers.length > 0 ? (
        <PartKey parts={series.layers.map(({ part }) => part)} />
      ) : (
        <p class="quiet">The parts of these steps were not recorded.</p>
      )}
    </ChartFrame>
  );
}
