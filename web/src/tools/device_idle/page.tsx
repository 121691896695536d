/** Device idle: how long devices have nothing to do, why, and where the longest gaps are. */

import { textsOf } from "../../api/columns.ts";
import type { DeviceIdle as IdleResult } from "../../api/types.gen.ts";
import { count, duration, MISSING, percent } from "../../base/format.ts";
import type { Fact } from "../../widgets/facts.tsx";
import { BarSection, ToolFrame } from "../sections/frame.tsx";
import { TableSection } from "../sections/table_section.tsx";
import type { ToolPageProps } from "../sections/tool_page.tsx";

type IdleProps = ToolPageProps<IdleResult>;

/** The tables below the causes: what each is of, and what it means that there is none. */
const TABLES = [
  [
    "devices",
    "Devices",
    "those that ran anything in that time",
    "No device was active in that time.",
    ["device", "devices"],
  ],
  [
    "gaps",
    "Longest gaps",
    "times without work on a device",
    "No gap is long enough to list.",
    ["gap", "gaps"],
  ],
  [
    "launches",
    "Launching calls",
    "",
    "No launch call ran in the counted steps.",
    ["call", "calls"],
  ],
  [
    "waits",
    "Calls that wait for the device",
    "",
    "The host never waits for a device.",
    ["call", "calls"],
  ],
  [
    "copies",
    "Copies",
    "summed over devices; several may run at once",
    "Nothing is copied.",
    ["direction", "directions"],
  ],
  [
    "allocations",
    "Memory from the driver",
    "",
    "No memory is allocated or freed through the driver.",
    ["call", "calls"],
  ],
  [
    "slow_calls",
    "Calls that start the device",
    "far longer than most, while no device works",
    "No call into the driver takes far longer than most do.",
    ["call", "calls"],
  ],
] as const;

export function DeviceIdle(props: IdleProps) {
  const { result } = props;
  return (
    <ToolFrame headline={result.headline} figures={figures(result)} result={result}>
      <BarSection
        {...props}
        field="causes"
        source={result.causes}
        title="What the host does in that time"
        note="idle time, split by what the host does; shares are of all the time"
        noun={["cause", "causes"]}
        bars={causeBars(result)}
        none="Devices are never idle in that time."
      />
      {TABLES.map(([field, title, note, none, noun]) => (
        <TableSection
          key={field}
          {...props}
          {...{ field, title, noun }}
          note={note}
          none={none}
          source={result[field]}
        />
      ))}
    </ToolFrame>
  );
}

function figures(result: IdleResult): Fact[] {
  const time = (ms: number | null) => (ms === null ? MISSING : duration(ms, "ms"));
  return [
    {
      label: "Idle",
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
      note: "waiting for busy devices",
    },
    ...(result.times_of === "recording"
      ? []
      : [{ label: "Steps counted", value: count(result.step_count) }]),
  ];
}

function causeBars({ causes: { columns } }: IdleResult) {
  return textsOf(columns.label)
    .map((label, row) => ({
      label,
      value: columns.idle_ms[row] ?? 0,
      text: `${duration(columns.idle_ms[row] ?? 0, "ms")}, ${percent(columns.step_frac[row] ?? 0)}`,
    }))
    .filter((bar) => bar.value > 0);
}
