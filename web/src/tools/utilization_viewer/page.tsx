/** Utilization of units: how far each unit of a TPU chip is from its peak, by its own counters. */

import { numbersOf, textsOf } from "../../api/columns.ts";
import type {
  TableOf,
  UnitRow,
  UtilizationViewer as UtilizationResult,
} from "../../api/types.gen.ts";
import { count, MISSING, percent, plural } from "../../base/format.ts";
import type { TopBar } from "../../widgets/charts/top_bars.tsx";
import type { Fact } from "../../widgets/facts.tsx";
import { BarSection, ToolFrame } from "../sections/frame.tsx";
import { TableSection } from "../sections/table_section.tsx";
import type { ToolPageProps } from "../sections/tool_page.tsx";

type UnitsProps = ToolPageProps<UtilizationResult>;

const BARS = [
  [
    "units",
    "Units compared with their peaks",
    "a full bar is the peak; mean and range over chips, cores and samples",
  ],
  [
    "details",
    "Parts and states of units",
    "what each unit did, and cycles in which none, one or both were busy",
  ],
] as const;

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
    <ToolFrame headline={result.headline} figures={figures(result)} result={result}>
      {BARS.map(([field, title, note]) => (
        <BarSection
          key={field}
          {...props}
          {...{ field, title, note }}
          source={result[field]}
          bars={barsOf(result[field])}
          none="None of them has a peak to compare with."
          full={1}
        />
      ))}
      {TABLES.map(([field, title, note, none]) => (
        <TableSection
          key={field}
          {...props}
          {...{ field, title, note, none }}
          source={result[field]}
        />
      ))}
    </ToolFrame>
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
