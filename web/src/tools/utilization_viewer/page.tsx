/** Utilization of units: how far each unit of a TPU chip is from its peak, by its own counters. */

import { numbersOf, textsOf } from "../../api/columns.ts";
import type {
  TableOf,
  UnitRow,
  UtilizationViewer as UtilizationResult,
} from "../../api/types.gen.ts";
import { count, MISSING, percent, plural } from "../../base/format.ts";
import { withUnits } from "../../base/text.ts";
import { ChartFrame } from "../../widgets/charts/chart_frame.tsx";
import { type TopBar, TopBars } from "../../widgets/charts/top_bars.tsx";
import { type Fact, Figures } from "../../widgets/facts.tsx";
import { Grid } from "../../widgets/grid/grid.tsx";
import { Diagnostics } from "../sections/diagnostics.tsx";
import { TableSection } from "../sections/table_section.tsx";
import { type ToolPageProps, useTable } from "../sections/tool_page.tsx";

type UnitsProps = ToolPageProps<UtilizationResult>;

const TABLES = [
  ["chips", "Chips", "over each chip's samples and cores", "No chip was sampled."],
  ["readings", "Readings", "every core in every sample", "No samples were recorded."],
  [
    "absent",
    "Counters that were not recorded",
    "figures that need them are missing",
    "All counters of all units were recorded.",
  ],
] as const;

export function UtilizationViewer(props: UnitsProps) {
  const { result } = props;
  return (
    <div class="tool-page">
      <header class="answer">
        <h2>{withUnits(result.headline)}</h2>
      </header>
      <Figures figures={figures(result)} />
      <Bars
        {...props}
        field="units"
        title="Units compared with their peaks"
        note="a full bar is the peak; mean and range over chips, cores and samples"
      />
      <Bars
        {...props}
        field="details"
        title="Parts and states of units"
        note="what each unit did, and cycles in which none, one or both were busy"
      />
      {TABLES.map(([field, title, note, none]) => (
        <TableSection
          key={field}
          {...props}
          {...{ field, title, note, none }}
          source={result[field]}
        />
      ))}
      <Diagnostics diagnostics={result.diagnostics} />
    </div>
  );
}

function figures({ units, chips }: UtilizationResult): Fact[] {
  const names = textsOf(units.columns.unit);
  const shares = units.columns.utilization_frac;
  const share = (unit: string, note: string): Fact => {
    const value = shares[names.indexOf(unit)] ?? null;
    return { label: unit, value: value === null ? MISSING : percent(value), note };
  };
  const types = [...new Set(textsOf(chips.columns.device_type))].join(", ");
  const samples = chips.columns.samples.reduce<number>((sum, each) => sum + (each ?? 0), 0);
  return [
    share("MXU", "of cycles busy with matrix products"),
    share("HBM", "of memory bandwidth"),
    share("Vector ALUs", "of the instructions they could issue"),
    { label: "Chips", value: count(chips.rows), note: `${types}, ${plural(samples, "sample")}` },
  ];
}

interface BarsProps extends UnitsProps {
  readonly field: "units" | "details";
  readonly title: string;
  readonly note: string;
}

function Bars(props: BarsProps) {
  const { result, field, title, note } = props;
  const source: TableOf<UnitRow> = result[field];
  const binding = useTable(props, field, source);
  const bars = barsOf(source);
  if (bars.length === 0) {
    return (
      <section>
        <h2>{title}</h2>
        <p class="quiet">None of them has a peak to compare with.</p>
      </section>
    );
  }
  return (
    <ChartFrame
      title={title}
      note={note}
      file={`${result.session} ${field}`}
      table={() => <Grid {...binding} label={title} sums={false} />}
    >
      <TopBars bars={bars} label={title} full={1} />
    </ChartFrame>
  );
}

/** The rows that did anything. */
function barsOf({ columns }: TableOf<UnitRow>): TopBar[] {
  const [achieved, peaks] = [numbersOf(columns.achieved), numbersOf(columns.peak)];
  const [least, most] = [numbersOf(columns.least_frac), numbersOf(columns.most_frac)];
  const counted = textsOf(columns.counted_in);
  const shares = numbersOf(columns.utilization_frac);
  return textsOf(columns.unit)
    .map((label, row) => {
      const value = shares[row] ?? Number.NaN;
      const range = `${percent(least[row] ?? Number.NaN)} to ${percent(most[row] ?? Number.NaN)}`;
      const amounts = `${count(achieved[row] ?? Number.NaN)} of ${count(peaks[row] ?? Number.NaN)}`;
      return {
        label,
        value,
        text: `${percent(value)} (${range})`,
        more: `on average ${amounts} ${counted[row]}`,
      };
    })
    .filter((bar) => bar.value > 0);
}
