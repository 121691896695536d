/** The recorded step as a bar: what is typical, what each suspect adds, and the rest. */

import { numbersOf, textsOf } from "../../api/columns.ts";
import type { Part } from "../../base/parts.ts";
import { ChartFrame } from "../../widgets/charts/chart_frame.tsx";
import { StackBar } from "../../widgets/charts/stack_bar.tsx";
import { Grid } from "../../widgets/grid/grid.tsx";
import { useTable } from "../sections/tool_page.tsx";
import type { WholePodProps } from "./props.ts";

const COLOURS = ["input", "collectives", "output", "launch", "compile", "host"] as const;

export function StepCost(props: WholePodProps) {
  const { costs, step_ms: step, session } = props.result;
  const binding = useTable(props, "costs", costs);
  const times = numbersOf(costs.columns.time_ms);
  const last = costs.rows - 1;
  const items = textsOf(costs.columns.part).map((label, row) => ({
    part: partOf(label, row, last),
    ms: times[row] ?? null,
    stdMs: null,
  }));
  return (
    <ChartFrame
      title="Where the step goes"
      note="suspects made typical one after the other; those that are late together share"
      file={`${session} pod step`}
      table={() => <Grid {...binding} label="Parts of the step" plain />}
    >
      <StackBar items={items} totalMs={step ?? 1} label="Step of the pod" />
    </ChartFrame>
  );
}

function partOf(label: string, row: number, last: number): Part {
  const id = `pod-${row}`;
  if (row === 0) return { id, label, colour: "device", pattern: "solid" };
  if (row === last) return { id, label, colour: "other", pattern: "hatch" };
  const colour = COLOURS[(row - 1) % COLOURS.length] ?? "other";
  return { id, label, colour, pattern: row > COLOURS.length ? "hatch" : "solid" };
}
