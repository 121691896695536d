/** HLO ops: which kinds and which ops take the time, what bounds them, what is recomputed. */

import { textsOf } from "../../api/columns.ts";
import type { HloStats as HloResult } from "../../api/types.gen.ts";
import { count, duration, MISSING, percent, plural } from "../../base/format.ts";
import type { Fact } from "../../widgets/facts.tsx";
import { ShareSection, ToolFrame } from "../sections/frame.tsx";
import { TableSection } from "../sections/table_section.tsx";
import type { ToolPageProps } from "../sections/tool_page.tsx";

type HloProps = ToolPageProps<HloResult>;

const OP = ["op", "ops"] as const;
const CATEGORY = ["category", "categories"] as const;
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
  const { categories, ops, rematerialised } = result;
  const rings = [
    ["categories", "By category", categories, categories.columns.category, CATEGORY],
    ["ops", "By op", ops, ops.columns.hlo_op, OP],
    [
      "rematerialised",
      "Recomputed to save memory",
      rematerialised,
      rematerialised.columns.category,
      CATEGORY,
    ],
  ] as const;
  return (
    <ToolFrame headline={headline(result)} figures={figures(result)} result={result}>
      <div class="chart-pair">
        {rings
          .filter(([field, , source]) => field !== "rematerialised" || source.rows > 1)
          .map(([field, title, source, names, noun]) => (
            <ShareSection
              key={field}
              {...props}
              {...{ field, title, source, noun }}
              note="by self time"
              names={textsOf(names)}
              timesUs={source.columns.self_time_us}
            />
          ))}
      </div>
      <TableSection
        {...props}
        field="ops"
        title="HLO ops"
        none=""
        noun={OP}
        source={ops}
        first={FIRST}
        main
      />
    </ToolFrame>
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
