/** Compare runs: whether the step changed, where the difference lies, and what else differed. */

import { useMemo } from "preact/hooks";
import { numbersOf, rowsWhere, textsOf } from "../../api/columns.ts";
import type { Comparison, ComparisonPartRow, TableOf } from "../../api/types.gen.ts";
import { bytes, count, duration, MISSING, percent, signedDuration } from "../../base/format.ts";
import { shortName } from "../../base/short_name.ts";
import { visible, withUnits } from "../../base/text.ts";
import { cancelling } from "../../engine/cancelling.ts";
import { waterfall } from "../../engine/charts/waterfall.ts";
import { ChartFrame } from "../../widgets/charts/chart_frame.tsx";
import { WaterfallChart } from "../../widgets/charts/waterfall_chart.tsx";
import { type Fact, Figures } from "../../widgets/facts.tsx";
import { Grid } from "../../widgets/grid/grid.tsx";
import { ChartSection } from "../sections/chart_section.tsx";
import { Diagnostics } from "../sections/diagnostics.tsx";
import { TableSection } from "../sections/table_section.tsx";
import { useTable } from "../sections/tool_page.tsx";
import { AskForBaseline, Baseline, otherHardware, SwapSides } from "./baseline.tsx";
import type { CompareProps } from "./props.ts";
import { RunSeries } from "./run_series.tsx";
import { StartsMenu, StartsTable, startFigures } from "./starts.tsx";

type Parts = TableOf<ComparisonPartRow>;

const MOST_BARS = 9;

const WORKERS = [
  [
    "worker_times",
    "Workers",
    ["worker", "workers"],
    "Each worker's own part of the step, and how long it waits for slower workers",
  ],
  ["suspects", "Who makes the others wait", ["suspect", "suspects"]],
  ["slowest_worker_parts", "For the worker the others wait for", ["part", "parts"]],
] as const;
const LEVELS = [
  ["lines", "By line", ["function", "functions"]],
  ["modules", "By module", ["module", "modules"]],
  ["kernels", "By kernel", ["kernel", "kernels"]],
] as const;

export function Compare(props: CompareProps) {
  const { result, params } = props;
  const hardware = otherHardware(result);
  if (hardware && !params.baseline) return <AskForBaseline {...props} hardware={hardware} />;
  return (
    <div class="tool-page compare">
      <header class={`verdict change-${direction(result)}`}>
        <h2>{withUnits(visible(result.headline))}</h2>
        <Cancelled result={result} />
        {result.lines_text && <p>{withUnits(visible(result.lines_text))}</p>}
        <div class="pickers">
          <Baseline {...props} />
          <SwapSides {...props} />
          <StartsMenu {...props} />
        </div>
      </header>
      <Figures figures={result.starts ? startFigures(result.starts) : figures(result)} />
      <StartsTable {...props} />
      <Conditions {...props} />
      <RunSeries {...props} />
      <Difference {...props} field="step_parts" title="Where the step changed" />
      <Difference {...props} field="parts" title="What changed" />
      <ChartSection
        {...props}
        field="memory_course"
        title="Memory in use"
        note={visible(result.memory_text)}
        source={result.memory_course}
        stepwise
      />
      {result.worker_times.rows > 0 &&
        WORKERS.map((level) => <Level key={level[0]} {...props} level={level} />)}
      {LEVELS.map((level) => (
        <Level key={level[0]} {...props} level={level} />
      ))}
      <Diagnostics diagnostics={result.diagnostics} />
    </div>
  );
}

/** Two changes that the sum hides are the story of this comparison. */
function Cancelled({ result }: { result: Comparison }) {
  const found = cancelling(changes(result.parts), result.baseline.step_time_ms ?? 0);
  if (!found) return null;
  const [shrunk, grown] = found.map(
    ({ name, delta }) => `${visible(shortName(name))} ${signed(delta)}`,
  );
  return (
    <p>
      Large changes cancel: {shrunk}, {grown}.
    </p>
  );
}

function direction({ significant, delta_ms: delta }: Comparison): string {
  if (!significant || delta === null) return "none";
  return delta > 0 ? "slower" : "faster";
}

const ms = (value: number | null) => (value === null ? MISSING : duration(value, "ms"));
const signed = (value: number) => signedDuration(value, "ms");

function figures(result: Comparison): Fact[] {
  const { baseline, candidate, delta_ms: delta, delta_frac: share, interval_ms: interval } = result;
  const [low, high] = interval ?? [null, null];
  const memory = numbersOf(result.runs.columns.peak_memory_bytes);
  const before = memory[0] ?? Number.NaN;
  const after = memory[memory.length - 1] ?? Number.NaN;
  const facts: Fact[] = [
    { label: "Step before", value: ms(baseline.step_time_ms), note: steps(baseline.steps) },
    { label: "Step after", value: ms(candidate.step_time_ms), note: steps(candidate.steps) },
    {
      label: "Change",
      value: delta === null ? MISSING : signed(delta),
      note: share === null ? "" : `${share > 0 ? "+" : ""}${percent(share)}`,
    },
    {
      label: "99% interval",
      value:
        low === null || high === null || low === undefined || high === undefined
          ? MISSING
          : `${signed(low)} to ${signed(high)}`,
      note: OUTCOMES[result.outcome] ?? "",
    },
  ];
  if (Number.isFinite(after)) {
    facts.push({
      label: "Peak memory",
      value: bytes(after),
      note: Number.isFinite(before) ? `${bytes(before)} before` : "not recorded before",
    });
  }
  return facts;
}

const OUTCOMES: Readonly<Record<string, string>> = {
  slower: "more than noise",
  faster: "more than noise",
  equal: "no change beyond 2 %",
  unknown: "the recordings cannot tell",
  separated: "in every step; too few to test",
};

function steps(n: number): string {
  return `mean of ${count(n)} ${n === 1 ? "step" : "steps"}`;
}

/** What else than the program differed; all conditions on demand. */
function Conditions(props: CompareProps) {
  const { parity } = props.result;
  const binding = useTable(props, "parity", parity);
  const status = textsOf(parity.columns.status);
  const differs = rowsWhere(parity, (row) => status[row] === "differs").columns;
  const said = (name: string, row: number) => visible(String(differs[name]?.[row] ?? ""));
  return (
    <section>
      <header class="section-head">
        <h2>Conditions</h2>
        <p class="quiet">
          {status.includes("differs")
            ? "These conditions differ and may explain the change by themselves."
            : "No difference in the recorded conditions."}
        </p>
      </header>
      <ul class="conditions">
        {(differs.property ?? []).map((_, row) => (
          <li key={said("property", row)}>
            <span class="mark warning">{said("property", row)}</span> {said("baseline", row)} →{" "}
            {said("candidate", row)}. <span class="quiet">{said("note", row)}</span>
          </li>
        ))}
      </ul>
      <details>
        <summary>All conditions</summary>
        <Grid {...binding} label="Conditions" plain />
      </details>
    </section>
  );
}

interface DifferenceProps extends CompareProps {
  readonly field: "parts" | "step_parts";
  readonly title: string;
}

/** The way from one step time to the other as a waterfall, and its parts as a table. */
function Difference(props: DifferenceProps) {
  const { result, field, title } = props;
  const parts = result[field];
  const binding = useTable(props, field, parts);
  const drawn = useMemo(
    () => waterfall(result.baseline.step_time_ms ?? 0, changes(parts), MOST_BARS),
    [result, parts],
  );
  return (
    <section>
      <ChartFrame
        title={title}
        note="Exposed time per step; overlapped work is not counted."
        file={`compare-${field}`}
      >
        <WaterfallChart
          waterfall={drawn}
          show={(value) => duration(value, "ms")}
          label={`${title}, from ${ms(result.baseline.step_time_ms)} to ${ms(result.candidate.step_time_ms)}`}
        />
      </ChartFrame>
      {field === "parts" ? (
        <Grid {...binding} label={title} noun={["part", "parts"]} maxRows={16} />
      ) : (
        <details>
          <summary>As a table</summary>
          <Grid {...binding} label={title} plain />
        </details>
      )}
    </section>
  );
}

function changes(parts: Parts): { name: string; delta: number }[] {
  const names = textsOf(parts.columns.name);
  const kinds = textsOf(parts.columns.kind);
  const delta = numbersOf(parts.columns.delta_ms);
  const isOp = new Set(["slower", "faster", "added", "removed"]);
  return names.map((name, row) => ({
    name: isOp.has(kinds[row] ?? "") ? `${name} (${kinds[row]})` : name,
    delta: delta[row] ?? 0,
  }));
}

interface LevelProps extends CompareProps {
  readonly level: (typeof WORKERS | typeof LEVELS)[number];
}

function Level(props: LevelProps) {
  const [field, title, noun, note = ""] = props.level;
  const source = props.result[field];
  return <TableSection {...props} {...{ field, title, noun, note, source }} sums constants />;
}
