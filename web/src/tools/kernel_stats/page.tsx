/** Kernels: which take the time, of which kind they are, and every one with its launch. */

import { useMemo } from "preact/hooks";
import { textsOf } from "../../api/columns.ts";
import type { KernelStats as KernelResult } from "../../api/types.gen.ts";
import type { AnyTable } from "../../base/columns.ts";
import { count, duration, MISSING, percent, plural } from "../../base/format.ts";
import { shortNames } from "../../base/short_name.ts";
import { withUnits } from "../../base/text.ts";
import { largestSectors, type Sectors } from "../../engine/charts/largest_shares.ts";
import { ChartFrame } from "../../widgets/charts/chart_frame.tsx";
import { ShareBars } from "../../widgets/charts/share_bars.tsx";
import { type Fact, Figures } from "../../widgets/facts.tsx";
import { Grid } from "../../widgets/grid/grid.tsx";
import { Picker } from "../../widgets/overlay/picker.tsx";
import { Segments } from "../../widgets/segments.tsx";
import { Diagnostics } from "../sections/diagnostics.tsx";
import {
  optionOf,
  type ToolPageProps,
  useFirst,
  useTable,
  useWithoutConstants,
} from "../sections/tool_page.tsx";

type KernelProps = ToolPageProps<KernelResult>;

const ROWS: Readonly<Record<string, readonly [string, string]>> = {
  kernel: ["kernel by launch and op", "kernels by launch and op"],
  op: ["op", "ops"],
  class: ["class", "classes"],
  name: ["kernel name", "kernel names"],
};

/** Where an op is a row, its kernels' names come after it. */
const HIDDEN_BY_NAME = ["op_name", "op_type"];

const NOTHING: readonly string[] = [];

const FIRST = [
  "name",
  "kernel_class",
  "op_name",
  "total_duration_us",
  "share_frac",
  "occurrences",
  "avg_duration_us",
  "median_duration_us",
  "std_duration_us",
  "min_duration_us",
  "max_duration_us",
  "is_kernel_using_tensor_core",
  "is_op_tensor_core_eligible",
  "occupancy_frac",
];

export function KernelStats(props: KernelProps) {
  const { result, query } = props;
  const { totals } = result;
  const byName = query.group_by === "name";
  const kernels = useFirst(
    useTable(props, "kernels", result.kernels),
    FIRST,
    byName ? HIDDEN_BY_NAME : NOTHING,
  );
  const noun = ROWS[query.group_by ?? ""] ?? (ROWS.kernel as readonly [string, string]);
  return (
    <div class="tool-page">
      <header class="answer">
        <h2>{withUnits(headline(result))}</h2>
        <DevicePicker {...props} />
      </header>
      <Figures figures={figures(result)} />
      <div class="chart-pair">
        <ShareChart
          {...props}
          title="Longest kernels"
          field="longest"
          source={result.longest}
          names={shortNames(textsOf(result.longest.columns.name))}
          values={result.longest.columns.total_duration_us}
          noun={["kernel", "kernels"]}
          distinct={totals.distinct_kernels}
          hasRest={(result.longest.columns.kernels.at(-1) ?? 1) > 1}
        />
        <ShareChart
          {...props}
          title="By class of work"
          field="by_class"
          source={result.by_class}
          names={textsOf(result.by_class.columns.kernel_class)}
          values={result.by_class.columns.total_duration_us}
          noun={["class", "classes"]}
          distinct={result.by_class.rows}
          hasRest={false}
        />
      </div>
      <Devices {...props} />
      <section>
        <header class="section-head">
          <h2>{noun[1].charAt(0).toUpperCase() + noun[1].slice(1)}</h2>
          <p class="quiet">Overlapping kernels are each counted in full.</p>
          <div class="section-controls">
            <Segments {...optionOf(props, "group_by")} />
          </div>
        </header>
        {kernels.table.rows > 0 ? (
          <Grid {...kernels} label="Kernels" noun={noun} />
        ) : (
          <p class="quiet">No kernel ran on {query.device || "any device"}.</p>
        )}
      </section>
      <Diagnostics diagnostics={result.diagnostics} />
    </div>
  );
}

function headline({ by_class: classes, totals }: KernelResult): string {
  const total = totals.total_duration_us;
  if (!total) return "No kernel ran.";
  const name = textsOf(classes.columns.kernel_class)[0];
  const share = classes.columns.share_frac[0];
  const ran = `Kernels ran for ${duration(total, "µs")}`;
  return name && share != null ? `${ran}, ${percent(share)} of it ${name}.` : `${ran}.`;
}

function share(value: number | null): string {
  return value === null ? MISSING : percent(value);
}

function figures({ totals }: KernelResult): Fact[] {
  const missed = totals.tensor_core_missed_us;
  return [
    {
      label: "Kernel time",
      value: duration(totals.total_duration_us ?? Number.NaN, "µs"),
      note: plural(totals.occurrences ?? Number.NaN, "run"),
    },
    { label: "Kernels", value: count(totals.distinct_kernels), note: "distinct names" },
    {
      label: "On tensor cores",
      value: share(totals.tensor_core_frac),
      note: `${share(totals.tensor_core_eligible_frac)} in ops that could use tensor cores`,
    },
    {
      label: "Tensor cores missed",
      value: missed === null ? MISSING : duration(missed, "µs"),
      note: "matrix products and convolutions that do not use tensor cores",
    },
    { label: "In 16 bits or fewer", value: share(totals.bits_16_frac), note: "of kernel time" },
  ];
}

/** Devices are known while none is chosen; then only that one is, and the way back. */
function DevicePicker({ result, query, onSelect }: KernelProps) {
  const chosen = query.device ?? "";
  const devices = textsOf(result.by_device.columns.device);
  const names = [...new Set(chosen ? [chosen, ...devices] : devices)];
  if (names.length < 2 && !chosen) return null;
  return (
    <Picker
      what="Device"
      name="Devices"
      placeholder="Find a device"
      current={chosen || "all"}
      onChoose={(id) => onSelect("device", id === "all" ? "" : id)}
      choices={[
        { id: "all", label: "All devices" },
        ...names.map((name) => ({ id: name, label: name })),
      ]}
    />
  );
}

interface ShareChartProps extends KernelProps {
  readonly title: string;
  readonly field: string;
  readonly source: AnyTable;
  readonly names: readonly string[];
  readonly values: readonly (number | null)[];
  readonly noun: readonly [string, string];
  /** How many there are, those in the rest included. */
  readonly distinct: number;
  /** Whether the last row sums up what is not listed. */
  readonly hasRest: boolean;
}

const MOST_SECTORS = 8;

function sectorsOf({ names, values, distinct, hasRest }: ShareChartProps): Sectors {
  const shares = names.map((label, row) => ({ label, value: values[row] ?? 0 }));
  const rest = hasRest ? (shares.pop()?.value ?? 0) : 0;
  const found = largestSectors(shares, MOST_SECTORS);
  return {
    sectors: found.sectors,
    other: { value: found.other.value + rest, count: distinct - found.sectors.length },
    total: found.total + rest,
  };
}

function ShareChart(props: ShareChartProps) {
  const { title, field, source, noun, result } = props;
  const binding = useTable(props, field, source);
  const sectors = useMemo(() => sectorsOf(props), [source]);
  if (sectors.total <= 0) return null;
  return (
    <ChartFrame
      title={title}
      note="by time"
      file={`${result.session} kernels ${title}`}
      table={() => <Grid {...binding} label={title} noun={noun} plain />}
    >
      <ShareBars
        title={title}
        headless
        sectors={sectors}
        show={(value) => duration(value, "µs")}
        noun={noun}
      />
    </ChartFrame>
  );
}

function Devices(props: KernelProps) {
  const { result } = props;
  const { binding, said } = useWithoutConstants(useTable(props, "by_device", result.by_device));
  if (result.by_device.rows < 2) return null;
  return (
    <section>
      <header class="section-head">
        <h2>By device</h2>
        <p class="quiet">those that ran a kernel. {said}</p>
      </header>
      <Grid {...binding} label="Devices" plain />
    </section>
  );
}
