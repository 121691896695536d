/** The chosen step on every worker, and the step times to choose it from. */

import { useMemo } from "preact/hooks";
import { byName, numbersOf, rowsWhere, textsOf } from "../../api/columns.ts";
import type { PodViewer } from "../../api/types.gen.ts";
import { duration, plural } from "../../base/format.ts";
import { partsFor } from "../../base/parts.ts";
import { momentTicks, wholeTicks } from "../../engine/axes/ticks.ts";
import { greatest } from "../../engine/charts/curve.ts";
import type { StepSeries } from "../../engine/charts/step_series.ts";
import { ChartFrame } from "../../widgets/charts/chart_frame.tsx";
import { type Line, LineChart, LineKey } from "../../widgets/charts/line_chart.tsx";
import { StackBar } from "../../widgets/charts/stack_bar.tsx";
import { StepChart } from "../../widgets/charts/step_chart.tsx";
import { PartKey } from "../../widgets/charts/textures.tsx";
import { TipFacts } from "../../widgets/charts/tip_facts.tsx";
import { Grid } from "../../widgets/grid/grid.tsx";
import { type ToolPageProps, useTable, useWithoutConstants } from "../sections/tool_page.tsx";

type PodProps = ToolPageProps<PodViewer>;

const CHOSEN = "view.step";
const HEADROOM = 1.08;

interface Extremes {
  /** By place of the step: slowest and fastest worker, and whether it counts. */
  readonly slowest: Float64Array;
  readonly fastest: Float64Array;
  readonly kept: readonly boolean[];
}

function extremesOf({ step_nums: nums, pod: { columns } }: PodProps["result"]): Extremes {
  const placeOf = new Map(nums.map((num, place) => [num, place]));
  const slowest = new Float64Array(nums.length).fill(Number.NaN);
  const fastest = new Float64Array(nums.length).fill(Number.NaN);
  const kept = nums.map(() => false);
  columns.step_time_ms.forEach((time, row) => {
    const place = placeOf.get(columns.step_num[row] ?? Number.NaN);
    if (place === undefined || time === null) return;
    if (!(time <= (slowest[place] as number))) slowest[place] = time;
    if (!(time >= (fastest[place] as number))) fastest[place] = time;
    kept[place] ||= columns.kept[row] === true;
  });
  return { slowest, fastest, kept };
}

/** The slowest of the steps that count; the first one where none does. */
function slowestKept({ slowest, kept }: Extremes): number {
  let best = 0;
  kept.forEach((counts, place) => {
    const better = (slowest[place] as number) > (slowest[best] as number) || !kept[best];
    if (counts && better) best = place;
  });
  return best;
}

export function PodStep(props: PodProps) {
  const { result, params, onParams } = props;
  const extremes = useMemo(() => extremesOf(result), [result]);
  const wanted = Number(params[CHOSEN] ?? Number.NaN);
  const known = wanted >= 0 && wanted < result.step_nums.length;
  const place = known ? wanted : slowestKept(extremes);
  const onPlace = (next: number) => onParams({ ...params, [CHOSEN]: String(next) });
  if (result.step_nums.length === 0) {
    return (
      <section>
        <h2>Steps</h2>
        <p class="quiet">The workers have no step in common.</p>
      </section>
    );
  }
  return (
    <>
      <Workers {...props} place={place} chosen={known} onPlace={onPlace} extremes={extremes} />
      {result.step_nums.length > 2 && (
        <StepTimes {...props} place={place} onPlace={onPlace} extremes={extremes} />
      )}
    </>
  );
}

interface PlaceProps extends PodProps {
  readonly place: number;
  readonly onPlace: (place: number) => void;
  readonly extremes: Extremes;
}

function Workers(props: PlaceProps & { readonly chosen: boolean }) {
  const { result, place, onPlace, chosen, extremes } = props;
  const step = result.step_nums[place];
  const source = useMemo(
    () => rowsWhere(result.pod, (row) => result.pod.columns.step_num[row] === step),
    [result, step],
  );
  const series = useMemo(() => workersOf(source, result.parts), [source]);
  const { binding, said } = useWithoutConstants(useTable(props, "pod", source));
  const last = result.step_nums.length - 1;
  const slider = `step-${result.session}`;
  return (
    <ChartFrame
      title={`Step ${step} on ${plural(source.rows, "worker")}`}
      note={[
        chosen ? "" : "the slowest step counted",
        extremes.kept[place] ? "" : "cut at the edge of the recording, not counted",
      ]
        .filter(Boolean)
        .join("; ")}
      file={`${result.session} pod step ${step}`}
      controls={
        last > 0 && (
          <div class="slider">
            <label for={slider}>Step</label>
            <input
              id={slider}
              type="range"
              min={0}
              max={last}
              value={place}
              aria-valuetext={`step ${step}`}
              onInput={(event) => onPlace(Number(event.currentTarget.value))}
            />
            <output for={slider}>{step}</output>
          </div>
        )
      }
      table={() => (
        <>
          {said && <p class="quiet">{said}</p>}
          <Grid
            {...binding}
            label="Workers in this step"
            noun={["worker", "workers"]}
            sums={false}
          />
        </>
      )}
    >
      {source.rows === 1 && <OneWorker series={series} />}
      {source.rows > 1 && (
        <>
          <StepChart
            series={series}
            range={[0, source.rows - 1]}
            onRange={null}
            medianMs={null}
            whole
          />
          <PartKey parts={series.layers.map(({ part }) => part)} />
        </>
      )}
      {source.rows === 0 && <p class="quiet">No worker recorded this step.</p>}
    </ChartFrame>
  );
}

/** One column in a wide chart compares nothing: its parts in a bar say more. */
function OneWorker({ series }: { series: StepSeries }) {
  const items = series.layers.map(({ part, values }) => ({
    part,
    ms: values[0] ?? null,
    stdMs: null,
  }));
  return <StackBar items={items} totalMs={series.totals[0] ?? 0} label="The step of the worker" />;
}

function workersOf(
  source: ReturnType<typeof rowsWhere>,
  labels: Readonly<Record<string, string>>,
): StepSeries {
  const cells = (name: string) => (source.columns[name] ?? []) as readonly (number | null)[];
  const texts = (name: string) =>
    textsOf((source.columns[name] ?? []) as readonly (string | null)[]);
  const [hosts, devices] = [texts("host"), texts("device")];
  const layers = partsFor(Object.keys(labels), labels)
    .map((part) => ({
      part,
      values: numbersOf(cells(`${part.id}_ms`)).map((value) => value || 0),
    }))
    .filter(({ values }) => values.some((value) => value > 0));
  return {
    numbers: numbersOf(cells("worker")),
    totals: numbersOf(cells("step_time_ms")),
    layers,
    kept: (source.columns.kept ?? []).map((cell) => cell !== false),
    noun: "worker",
    places: hosts.map((host, row) => `${host} ${devices[row]}`),
  };
}

/** Slowest and fastest worker of each step, to choose a step by. */
function StepTimes(props: PlaceProps) {
  const { result, place, onPlace, extremes } = props;
  const binding = useTable(props, "pod", byName(result.pod), "all");
  const several = result.workers.rows > 1;
  const lines: Line[] = [
    {
      id: "slowest",
      label: several ? "Slowest worker" : "The worker",
      hue: "hue-a",
      values: extremes.slowest,
      form: "line",
      axis: "left",
    },
    {
      id: "fastest",
      label: "Fastest worker",
      hue: "hue-b",
      values: extremes.fastest,
      form: "dashed",
      axis: "left",
    },
  ];
  const shown = several ? lines : lines.slice(0, 1);
  const xs = useMemo(() => Float64Array.from(result.step_nums), [result]);
  return (
    <ChartFrame
      title="Step times"
      note="click to choose a step"
      file={`${result.session} pod step times`}
      table={() => (
        <Grid {...binding} label="All steps" noun={["row", "rows"]} maxRows={12} sums={false} />
      )}
    >
      <LineChart
        label={`Step times of ${plural(result.step_nums.length, "step")}`}
        xs={xs}
        lines={shown}
        stepwise={false}
        span={[xs[0] ?? 0, xs[xs.length - 1] ?? 1]}
        xName="step"
        xTicks={wholeTicks}
        yTicks={momentTicks}
        top={greatest(extremes.slowest) * HEADROOM}
        chosen={place}
        onChoose={onPlace}
        height={170}
        tip={(at) => (
          <TipFacts
            title={`Step ${result.step_nums[at]}`}
            facts={shown.map((line) => [
              line.label,
              duration((line.values[at] as number) ?? Number.NaN, "ms"),
            ])}
          />
        )}
      />
      {several && <LineKey lines={shown} />}
    </ChartFrame>
  );
}
