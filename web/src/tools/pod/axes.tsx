/** One panel for each axis of parallelism: own work and waiting by coordinate. */

import { numbersOf, rowsWhere, textsOf } from "../../api/columns.ts";
import { count, duration } from "../../base/format.ts";
import { ChartFrame } from "../../widgets/charts/chart_frame.tsx";
import { TopBars } from "../../widgets/charts/top_bars.tsx";
import { Grid } from "../../widgets/grid/grid.tsx";
import { useTable } from "../sections/tool_page.tsx";
import type { WholePodProps } from "./props.ts";

const MOST_BARS = 12;

export function PodAxes(props: WholePodProps) {
  const { axes, session } = props.result;
  const binding = useTable(props, "axes", axes);
  const names = [...new Set(textsOf(axes.columns.axis))];
  if (names.length === 0) return null;
  return (
    <ChartFrame
      title="By place in the job"
      note="waiting per step that goes back to the devices of each coordinate, in their mean"
      file={`${session} pod axes`}
      table={() => <Grid {...binding} label="Axes" noun={["coordinate", "coordinates"]} plain />}
    >
      <div class="pod-axes">
        {names.map((name) => (
          <AxisPanel key={name} {...props} name={name} />
        ))}
      </div>
    </ChartFrame>
  );
}

function AxisPanel({ result, name }: WholePodProps & { readonly name: string }) {
  const named = textsOf(result.axes.columns.axis);
  const { columns, rows } = rowsWhere(result.axes, (row) => named[row] === name);
  const cells = (field: string) => numbersOf((columns[field] ?? []) as readonly (number | null)[]);
  const [place, charged, work] = [cells("coordinate"), cells("charged_ms"), cells("work_ms")];
  const bars = Array.from(place, (coordinate, row) => ({
    label: `${name} ${coordinate}`,
    value: charged[row] ?? 0,
    text: duration(charged[row] ?? Number.NaN, "ms"),
    more: `own work ${duration(work[row] ?? Number.NaN, "ms")}`,
  })).sort((a, b) => b.value - a.value);
  return (
    <div>
      <h3>{name}</h3>
      <TopBars bars={bars.slice(0, MOST_BARS)} label={`Makes others wait, by ${name}`} />
      {rows > MOST_BARS && <p class="quiet">and {count(rows - MOST_BARS)} more in the table</p>}
    </div>
  );
}
