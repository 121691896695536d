/** Kernels: which take the time, of which kind they are, and every one with its launch. */

import { textsOf } from "../../api/columns.ts";
import type { KernelStats as KernelResult } from "../../api/types.gen.ts";
import { count, duration, MISSING, percent, plural } from "../../base/format.ts";
import { shortNames } from "../../base/short_name.ts";
import type { Fact } from "../../widgets/facts.tsx";
import { Picker } from "../../widgets/overlay/picker.tsx";
import { Segments } from "../../widgets/segments.tsx";
import { ShareSection, ToolFrame } from "../sections/frame.tsx";
import { TableSection } from "../sections/table_section.tsx";
import { optionOf, type ToolPageProps } from "../sections/tool_page.tsx";

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
  const { totals, longest, by_class: classes } = result;
  const noun = ROWS[query.group_by ?? ""] ?? (ROWS.kernel as readonly [string, string]);
  const hasRest = (longest.columns.kernels.at(-1) ?? 1) > 1;
  const picker = <DevicePicker {...props} />;
  return (
    <ToolFrame
      headline={headline(result)}
      figures={figures(result)}
      result={result}
      picker={picker}
    >
      <div class="chart-pair">
        <ShareSection
          {...props}
          title="Longest kernels"
          note="by time"
          field="longest"
          source={longest}
          names={shortNames(textsOf(longest.columns.name))}
          timesUs={longest.columns.total_duration_us}
          noun={["kernel", "kernels"]}
          {...(hasRest ? { distinct: totals.distinct_kernels ?? longest.rows } : {})}
        />
        <ShareSection
          {...props}
          title="By class of work"
          note="by time"
          field="by_class"
          source={classes}
          names={textsOf(classes.columns.kernel_class)}
          timesUs={classes.columns.total_duration_us}
          noun={["class", "classes"]}
        />
      </div>
      {result.by_device.rows > 1 && (
        <TableSection
          {...props}
          field="by_device"
          title="Devices"
          note="those that ran a kernel"
          source={result.by_device}
        />
      )}
      <TableSection
        {...props}
        field="kernels"
        title={noun[1].charAt(0).toUpperCase() + noun[1].slice(1)}
        label="Kernels"
        note="Overlapping kernels are each counted in full."
        none={`No kernel ran on ${query.device || "any device"}.`}
        noun={noun}
        source={result.kernels}
        first={FIRST}
        hidden={query.group_by === "name" ? HIDDEN_BY_NAME : NOTHING}
        main
        constants
        controls={<Segments {...optionOf(props, "group_by")} />}
      />
    </ToolFrame>
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
