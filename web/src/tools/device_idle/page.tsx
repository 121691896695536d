/** Device idle: how long devices have nothing to do, why, and where the longest gaps are. */

import { textsOf } from "../../api/columns.ts";
import type { DeviceIdle as IdleResult } from "../../api/types.gen.ts";
import { count, duration, MISSING, percent } from "../../base/format.ts";
import { inWordsOf } from "../../base/times.ts";
import { ChartFrame } from "../../widgets/charts/chart_frame.tsx";
import { TopBars } from "../../widgets/charts/top_bars.tsx";
import { type Fact, Figures } from "../../widgets/facts.tsx";
import { Grid } from "../../widgets/grid/grid.tsx";
import { Diagnostics } from "../sections/diagnostics.tsx";
import { TableSection } from "../sections/table_section.tsx";
import { type ToolPageProps, useTable } from "../sections/tool_page.tsx";

type IdleProps = ToolPageProps<IdleResult>;

/** The tables below the causes: what each is of, and what it means that there is none. */
const TABLES = [
  [
    "devices",
    "Devices",
    "those that ran anything in a counted step",
    "No device was active in a counted step.",
  ],
  ["gaps", "Longest gaps", "times without work on a device", "No gap is long enough to list."],
  ["launches", "Launching calls", "", "No launch calls were recorded."],
  [
    "waits",
    "Calls that wait for the device",
    "",
    "The host never waits for a device during a step.",
  ],
  [
    "copies",
    "Copies in a step",
    "summed over devices; several may run at once",
    "Nothing is copied during a step.",
  ],
  [
    "allocations",
    "Memory from the driver",
    "",
    "No memory is allocated or freed through the driver during a step.",
  ],
] as const;

export function DeviceIdle(props: IdleProps) {
  const { result } = props;
  return (
    <div class="tool-page">
      <header class="answer">
        <h2>{headline(result)}</h2>
      </header>
      <Figures figures={figures(result)} />
      <Causes {...props} />
      {TABLES.map(([field, title, note, none]) => (
        <TableSection
          key={field}
          {...props}
          {...{ field, title }}
          note={inWordsOf(result.times_of, note)}
          none={inWordsOf(result.times_of, none)}
          source={result[field]}
        />
      ))}
      <Diagnostics diagnostics={result.diagnostics} />
    </div>
  );
}

function headline({ idle_ms: idle, idle_frac: share, causes, times_of }: IdleResult): string {
  if (idle === null || share === null) return "Device idle time is unknown.";
  const { label, idle_frac: shares } = causes.columns;
  const [first] = textsOf(label.slice(0, 1));
  const part = shares[0];
  const why = first && part ? `, mostly ${first.toLowerCase()}` : "";
  return inWordsOf(times_of, `Devices are idle ${percent(share)} of the step${why}.`);
}

function figures(result: IdleResult): Fact[] {
  const time = (ms: number | null) => (ms === null ? MISSING : duration(ms, "ms"));
  return [
    {
      label: result.times_of === "recording" ? "Idle" : "Idle per step",
      value: time(result.idle_ms),
      note: `of ${time(result.step_time_ms)}, mean over devices`,
    },
    {
      label: "After a wait",
      value: time(result.after_wait_ms),
      note: "in gaps that began while the host waited for the device",
    },
    {
      label: "Host blocked",
      value: time(result.blocked_ms),
      note:
        result.times_of === "recording"
          ? "waiting for busy devices"
          : "per step, waiting for busy devices",
    },
    ...(result.times_of === "recording"
      ? []
      : [{ label: "Steps counted", value: count(result.step_count) }]),
  ];
}

function Causes(props: IdleProps) {
  const { result } = props;
  const binding = useTable(props, "causes", result.causes);
  const { label, idle_ms: times, step_frac: shares } = result.causes.columns;
  const said = (text: string) => inWordsOf(result.times_of, text);
  const bars = textsOf(label)
    .map((name, row) => ({
      label: name,
      value: times[row] ?? 0,
      text: said(`${duration(times[row] ?? 0, "ms")}, ${percent(shares[row] ?? 0)} of the step`),
    }))
    .filter((bar) => bar.value > 0);
  if (bars.length === 0) {
    return (
      <section>
        <h2>Meanwhile</h2>
        <p class="quiet">{said("Devices are never idle during a counted step.")}</p>
      </section>
    );
  }
  return (
    <ChartFrame
      title="What the host does in that time"
      note={said("idle time per step, split by what the host does")}
      file={`${result.session} device idle`}
      table={() => <Grid {...binding} label="Causes of idle time" noun={["cause", "causes"]} />}
    >
      <TopBars bars={bars} label="Idle time by cause" />
    </ChartFrame>
  );
}
