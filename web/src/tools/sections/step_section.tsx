/** All steps as a chart, from which a person selects, or as a table. */

import { useEffect, useMemo, useState } from "preact/hooks";
import { getResult } from "../../api/client.ts";
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
import type { Params } from "./page_link.ts";
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

/** Places of the selected steps among all; null where all are, or where none is known. */
function selectedPlaces(text: string, { numbers }: StepSeries): StepRange | null {
  const [from = Number.NaN, to = from] = text.split(/[-–]/).map(Number);
  const all = Array.from(numbers);
  const first = all.findIndex((number) => number >= from);
  const last = all.findLastIndex((number) => number <= to);
  return text && first >= 0 && last >= first ? [first, last] : null;
}

/** The steps of the whole recording, from which a person selects; until they arrive, the selected. */
function useAllSteps({ tool, query, field, source }: StepSectionProps): AnyTable {
  const { steps, ...rest } = query;
  const key = JSON.stringify(rest);
  const [all, setAll] = useState<{ key: string; table: AnyTable } | null>(null);
  useEffect(() => {
    if (!steps) return;
    const control = new AbortController();
    getResult(tool.id, JSON.parse(key) as Params, control.signal)
      .then((result) => {
        const table = (result as unknown as Readonly<Record<string, AnyTable>>)[field];
        if (table) setAll({ key, table });
      })
      // The selected steps stay.
      .catch(() => undefined);
    return () => control.abort();
  }, [steps !== undefined, key, tool.id, field]);
  return steps && all?.key === key ? all.table : source;
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

/** The steps as a table, which is made only when a person asks for it. */
function StepTable(props: StepSectionProps) {
  const binding = useTable(props, props.field, props.source);
  return <Grid {...binding} label="Steps" noun={["step", "steps"]} maxRows={12} />;
}

/** All about one step. */
function StepDetails(props: StepSectionProps & { readonly row: number; onClose: () => void }) {
  const { field, source, row, onClose } = props;
  const { table, details } = useTable(props, field, source);
  return <RowDetails {...{ table, row, onClose }}>{details(row)}</RowDetails>;
}

/** What a chart of one or two steps would say, as a sentence. */
function FewSteps(props: StepSectionProps & { readonly series: StepSeries }) {
  const { source, series } = props;
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
        <StepTable {...props} />
      </details>
    </section>
  );
}

export function StepSection(props: StepSectionProps) {
  const { result, query, onSelect } = props;
  const source = useAllSteps(props);
  const series = useMemo(() => stepSeries(byName(source), props.tool.labels), [source, props.tool]);
  const [whole, setWhole] = useState(false);
  const [chosen, setChosen] = useState(-1);
  const [zooms, setZooms] = useState(false);
  const selected = selectedPlaces(query.steps ?? "", series);
  const range: StepRange = (zooms && selected) || [0, source.rows - 1];
  const onRange = (next: StepRange | null) =>
    onSelect("steps", next ? next.map((place) => series.numbers[place]).join("-") : "");
  const { cut } = useMemo(
    () => readableTop(series.totals.subarray(range[0], range[1] + 1)),
    [series, range[0], range[1]],
  );
  if (source.rows === 0) return null;
  if (source.rows < FEWEST_FOR_A_CHART) return <FewSteps {...props} {...{ source, series }} />;
  const controls = (
    <>
      {cut > 0 && (
        <button type="button" class="button" aria-pressed={whole} onClick={() => setWhole(!whole)}>
          {whole ? "Clip tall steps" : "Show tall steps in full"}
        </button>
      )}
      {selected && (
        <>
          <button
            type="button"
            class="button"
            aria-pressed={zooms}
            onClick={() => setZooms(!zooms)}
          >
            Zoom to selection
          </button>
          <button type="button" class="button" onClick={() => onRange(null)}>
            All {plural(source.rows, "step")}
          </button>
        </>
      )}
    </>
  );
  const note = [
    selected ? `${plural(selected[1] - selected[0] + 1, "step")} of ${source.rows} selected` : "",
    cut > 0 && !whole ? `${plural(cut, "step is", "steps are")} taller than the axis (▲)` : "",
    series.kept.includes(false) ? "pale steps are not counted" : "",
    "click a step for details, drag to select",
  ];
  return (
    <ChartFrame
      title="Step times"
      note={note.filter(Boolean).join("; ")}
      file={`${result.session} steps`}
      controls={controls}
      table={() => <StepTable {...props} source={source} />}
    >
      <StepChart
        series={series}
        range={range}
        onRange={onRange}
        selected={selected}
        medianMs={props.medianMs}
        whole={whole}
        onChoose={setChosen}
      />
      {chosen >= 0 && (
        <StepDetails {...props} source={source} row={chosen} onClose={() => setChosen(-1)} />
      )}
      {series.layers.length > 0 ? (
        <PartKey parts={series.layers.map(({ part }) => part)} />
      ) : (
        <p class="quiet">The parts of these steps were not recorded.</p>
      )}
    </ChartFrame>
  );
}
