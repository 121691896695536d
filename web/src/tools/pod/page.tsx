/** Pod: who makes the others wait, what it costs, and why, over all recordings of a job. */

import { count, duration, MISSING, percent, plural } from "../../base/format.ts";
import { visible, withUnits } from "../../base/text.ts";
import { type Fact, Figures } from "../../widgets/facts.tsx";
import { Grid } from "../../widgets/grid/grid.tsx";
import { Diagnostics } from "../sections/diagnostics.tsx";
import { useTable, useWithoutConstants } from "../sections/tool_page.tsx";
import { PodAxes } from "./axes.tsx";
import { StepCost } from "./cost.tsx";
import { DeviceMap } from "./map.tsx";
import type { WholePodProps } from "./props.ts";
import { Ribbon } from "./ribbon.tsx";
import { Suspects } from "./suspects.tsx";

export function WholePod(props: WholePodProps) {
  const { result } = props;
  const errors = result.diagnostics.filter(({ severity }) => severity === "error");
  const notes = result.diagnostics.filter(({ severity }) => severity !== "error");
  return (
    <div class="tool-page pod">
      {/* Who is missing comes first: the last to arrive may be among them. */}
      {errors.length > 0 && (
        <ul class="pod-missing">
          {errors.map(({ message, where }) => (
            <li key={message + where}>
              <span class="mark error">Error</span> {visible(message)}{" "}
              {where && <span class="quiet">{visible(where)}</span>}
            </li>
          ))}
        </ul>
      )}
      {result.files.rows > 0 && (
        <TableOfPod {...props} field="files" title="Not in the numbers" noun="recording" />
      )}
      <header class={`verdict bound-${result.verdict === "suspects" ? "collectives" : "other"}`}>
        <h2>{withUnits(visible(result.headline))}</h2>
      </header>
      <Figures figures={figures(result)} />
      <StepCost {...props} />
      <DeviceMap {...props} />
      <Suspects {...props} />
      <Ribbon {...props} />
      <PodAxes {...props} />
      <TableOfPod {...props} field="links" title="Links" noun="group" note={LINKS} />
      <TableOfPod {...props} field="devices" title="Devices" noun="device" note={listed(result)} />
      <Diagnostics diagnostics={notes} />
    </div>
  );
}

const LINKS = "transfers and waiting by group of devices; × class is against groups of its kind";

function listed({ devices, devices_found: found }: WholePodProps["result"]): string {
  if (devices.rows === found) return "those that make others wait longest first";
  return `the ${count(devices.rows)} of ${count(found)} that make others wait longest; files have all`;
}

interface TableOfPodProps extends WholePodProps {
  readonly field: "files" | "links" | "devices";
  readonly title: string;
  readonly noun: string;
  readonly note?: string;
}

function TableOfPod({ field, title, noun, note, ...props }: TableOfPodProps) {
  const { binding, said } = useWithoutConstants(useTable(props, field, props.result[field]));
  return (
    <section>
      <header class="section-head">
        <h2>{title}</h2>
        <p class="quiet">{[note, said].filter(Boolean).join(". ")}</p>
      </header>
      <Grid {...binding} label={title} noun={[noun, `${noun}s`]} maxRows={14} sums={false} />
    </section>
  );
}

function figures(result: WholePodProps["result"]): Fact[] {
  const time = (value: number | null) => (value === null ? MISSING : duration(value, "ms"));
  const { step_ms: step, typical_step_ms: typical, clock_u_us: u } = result;
  const lost = step === null || typical === null || step <= 0 ? null : (step - typical) / step;
  return [
    {
      label: "Step",
      value: time(step),
      note: `mean of ${plural(result.counted_steps, "step")}, replayed from what was recorded`,
    },
    {
      label: "Typical step",
      value: time(typical),
      note: lost === null ? "" : `${percent(lost)} of the step is lost`,
    },
    {
      label: "Recordings",
      value: count(result.recordings),
      note: `of ${count(result.expected)}`,
    },
    { label: "Devices", value: count(result.devices_found), note: "" },
    {
      label: "Clocks",
      value: u === null ? MISSING : `± ${duration(u, "µs")}`,
      note: u === null ? "share no collective" : "aligned by collectives",
    },
  ];
}
