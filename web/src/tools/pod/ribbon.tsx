/** Own work and waiting of all devices, step by step, with the slowest device of each. */

import { useMemo, useState } from "preact/hooks";
import { numbersOf, textsOf } from "../../api/columns.ts";
import type { Pod } from "../../api/types.gen.ts";
import { duration } from "../../base/format.ts";
import { momentTicks, wholeTicks } from "../../engine/axes/ticks.ts";
import { greatest } from "../../engine/charts/curve.ts";
import { ChartFrame } from "../../widgets/charts/chart_frame.tsx";
import { type Line, LineChart, LineKey } from "../../widgets/charts/line_chart.tsx";
import { TipFacts } from "../../widgets/charts/tip_facts.tsx";
import { Grid } from "../../widgets/grid/grid.tsx";
import { useTable } from "../sections/tool_page.tsx";
import type { WholePodProps } from "./props.ts";

const HEADROOM = 1.06;
const REPEATS = 2;

export function Ribbon(props: WholePodProps) {
  const { steps, session } = props.result;
  const binding = useTable(props, "steps", steps);
  const xs = useMemo(() => numbersOf(steps.columns.step_num), [steps]);
  const lines = useMemo(() => linesOf(steps.columns), [steps]);
  const slowest = textsOf(steps.columns.slowest);
  const [span, setSpan] = useState<readonly [number, number] | null>(null);
  const all = [xs[0] ?? 0, xs[xs.length - 1] ?? 1] as const;
  if (steps.rows < 2) return null;
  return (
    <ChartFrame
      title="Steps"
      note="own work and waiting, by share of the devices; drag to look closer"
      file={`${session} pod steps`}
      table={() => (
        <Grid {...binding} label="Steps" noun={["step", "steps"]} maxRows={14} sums={false} />
      )}
    >
      <LineChart
        label={`Own work and waiting in ${steps.rows} steps`}
        xs={xs}
        lines={lines}
        stepwise={false}
        span={span ?? all}
        onSpan={setSpan}
        xName="step"
        xTicks={wholeTicks}
        yTicks={momentTicks}
        top={Math.max(...lines.map(({ values }) => greatest(values as Float64Array))) * HEADROOM}
        tip={(at) => (
          <TipFacts
            title={`Step ${xs[at]}`}
            aside={`most own work: ${slowest[at]}`}
            facts={lines.map((line) => [line.label, duration(line.values[at] as number, "ms")])}
          />
        )}
      />
      <LineKey lines={lines} />
    </ChartFrame>
  );
}

function linesOf(columns: Pod["steps"]["columns"]): Line[] {
  const line = (
    id: keyof typeof columns,
    label: string,
    hue: string,
    form: Line["form"] = "line",
  ): Line => ({ id, label, hue, form, axis: "left", values: numbersOf(columns[id] as never) });
  const lines = [
    line("work_p99_ms", "Own work, 99 % of devices", "hue-a", "dashed"),
    line("work_p90_ms", "90 %", "hue-a"),
    line("work_p50_ms", "50 %", "hue-fg"),
    line("work_p10_ms", "10 %", "hue-a"),
    line("work_p1_ms", "1 %", "hue-a", "dashed"),
    line("waits_p90_ms", "Waiting, 90 %", "hue-d", "dashed"),
    line("waits_p50_ms", "Waiting, 50 %", "hue-d"),
  ];
  const often = mostOften(textsOf(columns.slowest));
  if (!often) return lines;
  const names = textsOf(columns.slowest);
  const values = numbersOf(columns.slowest_ms).map((value, row) =>
    names[row] === often ? value : Number.NaN,
  );
  const repeats: Line = {
    id: "repeats",
    label: `${often}, where it has the most`,
    hue: "hue-b",
    form: "line",
    axis: "left",
    values,
    dots: true,
  };
  return [repeats, ...lines];
}

/** The name that occurs most, if it does so at least twice. */
function mostOften(names: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  const [name, times] = [...counts].sort((a, b) => b[1] - a[1])[0] ?? ["", 0];
  return times >= REPEATS ? name : "";
}
