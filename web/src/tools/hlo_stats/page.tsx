/** HLO ops: which kinds and which ops take the time, what bounds them, what is recomputed. */

import { useMemo } from "preact/hooks";
import { numbersOf, textsOf } from "../../api/columns.ts";
import type { HloStats as HloResult } from "../../api/types.gen.ts";
import { count, duration, MISSING, percent, plural } from "../../base/format.ts";
import { withUnits } from "../../base/text.ts";
import { largestSectors } from "../../engine/charts/largest_shares.ts";
import { ChartFrame } from "../../widgets/charts/chart_frame.tsx";
import { ShareBars } from "../../widgets/charts/share_bars.tsx";
import { type Fact, Figures } from "../../widgets/facts.tsx";
import { Grid } from "../../widgets/grid/grid.tsx";
import { Diagnostics } from "../sections/diagnostics.tsx";
import {
  type ToolPageProps,
  useFirst,
  useTable,
  useWithoutConstants,
} from "../sections/tool_page.tsx";

type HloProps = ToolPageProps<HloResult>;

const MOST_SECTORS = 8;
const FIRST = [
  "rank",
  "hlo_op",
  "framework_op",
  "self_time_us",
  "self_time_frac",
  "bound_by",
  "program",
  "category",
  "occurrences",
  "avg_self_time_us",
  "flop_rate_gflops",
  "flop_utilisation_frac",
  "hbm_bw_gbps",
  "operational_intensity",
];

export function HloStats(props: HloProps) {
  const { result } = props;
  const { binding: ops, said } = useWithoutConstants(
    useFirst(useTable(props, "ops", result.ops), FIRST),
  );
  return (
    <div class="tool-page">
      <header class="answer">
        <h2>{withUnits(headline(result))}</h2>
      </header>
      <Figures figures={figures(result)} />
      <div class="chart-pair">
        <TimeRing
          {...props}
          title="By category"
          field="categories"
          names={result.categories.columns.category}
          times={result.categories.columns.self_time_us}
          noun={["category", "categories"]}
        />
        <TimeRing
          {...props}
          title="By op"
          field="ops"
          names={result.ops.columns.hlo_op}
          times={result.ops.columns.self_time_us}
          noun={["op", "ops"]}
        />
        {result.rematerialised.rows > 1 && (
          <TimeRing
            {...props}
            title="Recomputed to save memory"
            field="rematerialised"
            names={result.rematerialised.columns.category}
            times={result.rematerialised.columns.self_time_us}
            noun={["kind", "kinds"]}
          />
        )}
      </div>
      <section>
        <header class="section-head">
          <h2>HLO ops</h2>
          <p class="quiet">{said}</p>
        </header>
        <Grid {...ops} label="HLO ops" noun={["op", "ops"]} />
      </section>
      <Diagnostics diagnostics={result.diagnostics} />
    </div>
  );
}

function headline({ categories }: HloResult): string {
  const { category, self_time_us: times, self_time_frac: shares } = categories.columns;
  const order = Array.from(category.keys()).sort((a, b) => (times[b] ?? 0) - (times[a] ?? 0));
  const first = order[0];
  if (first === undefined) return "No HLO op ran.";
  const name = textsOf([category[first] ?? ""])[0];
  return `${percent(shares[first] ?? 0)} of the time of HLO ops is ${name}.`;
}

function figures(result: HloResult): Fact[] {
  const { op_time_us: time, idle_time_us: idle, other_time_us: other } = result;
  const show = (value: number | null) => (value === null ? MISSING : duration(value, "µs"));
  const whole = (time ?? 0) + (idle ?? 0);
  return [
    {
      label: "Op time",
      value: show(time),
      note: result.device_type ? `on ${result.device_type}` : "device type not known",
    },
    {
      label: "Idle",
      value: show(idle),
      note: idle !== null && whole > 0 ? `${percent(idle / whole)} of device time` : "not known",
    },
    { label: "Not compiled by XLA", value: show(other), note: "of the op time" },
    {
      label: "HLO ops",
      value: count(result.ops.rows),
      note: plural(result.categories.rows, "category", "categories"),
    },
  ];
}

interface TimeRingProps extends HloProps {
  readonly title: string;
  readonly field: "categories" | "ops" | "rematerialised";
  readonly names: readonly (string | null)[];
  readonly times: readonly (number | null)[];
  readonly noun: readonly [string, string];
}

function TimeRing(props: TimeRingProps) {
  const { title, field, names, times, noun, result } = props;
  const binding = useTable(props, field, result[field], `ring.${field}`);
  const sectors = useMemo(() => {
    const values = numbersOf(times);
    const shares = textsOf(names).map((label, row) => ({
      label: label || "(no name)",
      value: values[row] as number,
    }));
    return largestSectors(shares, MOST_SECTORS);
  }, [result]);
  if (sectors.total <= 0) return null;
  return (
    <ChartFrame
      title={title}
      note="by self time"
      file={`${result.session} HLO ${title}`}
      table={() => <Grid {...binding} label={title} noun={noun} maxRows={10} plain />}
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
