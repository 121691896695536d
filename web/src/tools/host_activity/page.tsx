/** Host activity: what the host does in a step while nothing computes. */

import type { HostActivity as HostResult } from "../../api/types.gen.ts";
import { count, duration, MISSING, significant } from "../../base/format.ts";
import { withUnits } from "../../base/text.ts";
import { type Fact, Figures } from "../../widgets/facts.tsx";
import { Diagnostics } from "../sections/diagnostics.tsx";
import { TableSection } from "../sections/table_section.tsx";
import type { ToolPageProps } from "../sections/tool_page.tsx";
import { Stacks } from "./stacks.tsx";

type HostProps = ToolPageProps<HostResult>;

/** The tables: what each is of, what a row is, and what it means that there is none. */
const TABLES = [
  {
    field: "python",
    title: "Python",
    note: "functions on the step's thread while no op is running",
    none: "No Python call ran on the step's thread in the counted steps, or calls were not recorded: turn on the Python sampler (in PyTorch with_stack=True).",
    noun: ["function", "functions"],
  },
  {
    field: "side_work",
    title: "Side work",
    note: "logging, checkpoints and other work that the result does not need",
    none: "No printing, summaries, checkpoints or callbacks were recorded in a step.",
    noun: ["kind", "kinds"],
  },
  {
    field: "calls",
    title: "Compiled functions",
    note: "calls that retrace or recompile compute nothing in that time",
    none: "No compiled function was called in a step.",
    noun: ["function", "functions"],
  },
] as const;

export function HostActivity(props: HostProps) {
  const { result } = props;
  return (
    <div class="tool-page">
      <header class="answer">
        <h2>{withUnits(result.headline)}</h2>
      </header>
      <Figures figures={figures(result)} />
      <Stacks {...props} />
      {TABLES.map((table) => (
        <TableSection key={table.field} {...props} {...table} source={result[table.field]} />
      ))}
      <Diagnostics diagnostics={result.diagnostics} />
    </div>
  );
}

function figures(result: HostResult): Fact[] {
  const time = (ms: number | null) => (ms === null ? MISSING : duration(ms, "ms"));
  return [
    {
      label: "Step time",
      value: time(result.step_time_ms),
      note: `mean of ${count(result.step_count)} counted`,
    },
    {
      label: "Computing",
      value: time(result.computing_ms),
      note: "per step, while an op or a device is running",
    },
    {
      label: "Waiting for input",
      value: time(result.input_ms),
      note: "per step, while no op is running",
    },
    { label: "Neither", value: time(result.idle_ms), note: "per step: Python, tracing, printing" },
    {
      label: "Eager ops",
      value: result.eager_ops === null ? MISSING : significant(result.eager_ops),
      note: "per step, launched one by one",
    },
  ];
}
