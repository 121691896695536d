/** Pod: one step on every worker side by side, the worker the others wait for, the collectives. */

import { textsOf } from "../../api/columns.ts";
import type { PodViewer as PodResult, Straggler } from "../../api/types.gen.ts";
import { count, duration, MISSING, percent } from "../../base/format.ts";
import { visible, withUnits } from "../../base/text.ts";
import { type Fact, Figures } from "../../widgets/facts.tsx";
import { Grid } from "../../widgets/grid/grid.tsx";
import { Diagnostics } from "../sections/diagnostics.tsx";
import { Prose } from "../sections/prose.tsx";
import { useTable, useWithoutConstants } from "../sections/tool_page.tsx";
import type { PodProps } from "./props.ts";
import { PodStep } from "./step.tsx";

export function PodViewer(props: PodProps) {
  const { result } = props;
  const { binding: workers, said } = useWithoutConstants(
    useTable(props, "workers", result.workers),
  );
  return (
    <div class="tool-page">
      <header class={`verdict bound-${result.straggler ? "collectives" : "other"}`}>
        <h2 class="verdict-line">{withUnits(headline(result))}</h2>
        {result.straggler && (
          <p>
            <Prose {...props} text={result.straggler.message} />
          </p>
        )}
      </header>
      <Figures figures={figures(result)} />
      <PodStep {...props} />
      <section>
        <header class="section-head">
          <h2>Workers</h2>
          <p class="quiet">
            in the mean of the counted steps, each device by itself: the Overview counts time in
            which any device of a host computes as compute. {said}
          </p>
        </header>
        <Grid {...workers} label="Workers" noun={["worker", "workers"]} sums={false} />
      </section>
      <Collectives {...props} />
      <Diagnostics diagnostics={result.diagnostics} />
    </div>
  );
}

function headline({ straggler, bottleneck, workers }: PodResult): string {
  const largest = `The largest part of the step is ${bottleneck.toLowerCase()}`;
  if (workers.rows < 2) return `${largest}. There is only one worker.`;
  if (!straggler) return `${largest}. No worker makes the others wait.`;
  return `The other workers wait for worker ${straggler.worker} (${nameOf(straggler)}).`;
}

function nameOf({ host, device }: Straggler): string {
  return visible([host, device].filter(Boolean).join(" "));
}

function figures({ straggler, ...result }: PodResult): Fact[] {
  const time = (value: number | null) => (value === null ? MISSING : duration(value, "ms"));
  const facts: Fact[] = [
    {
      label: "Step time",
      value: time(result.step_time_ms),
      note: "mean of the slowest worker's",
    },
    {
      label: "Workers",
      value: count(result.workers.rows),
      note: result.device_type || "device type not known",
    },
    { label: "Largest part", value: result.bottleneck || MISSING, note: "of the mean step" },
  ];
  if (straggler) {
    facts.push({
      label: "Wait caused",
      value: time(straggler.caused_wait_ms),
      note:
        straggler.step_frac === null ? "per step" : `${percent(straggler.step_frac)} of the step`,
    });
    facts.push({
      label: "Cause of its delay",
      value: straggler.cause || MISSING,
      note:
        straggler.cause_ms === null
          ? "compared with the others"
          : `${duration(straggler.cause_ms, "ms")} more than the others`,
    });
  } else if (result.workers.rows === 1) {
    facts.push({ label: "Straggler", value: "not known", note: "one worker was recorded" });
  } else {
    facts.push({ label: "Straggler", value: "none", note: "no collective waits for one worker" });
  }
  if (result.mismatched_collectives > 0) {
    facts.push({
      label: "Unmatched collectives",
      value: count(result.mismatched_collectives),
      note: "across devices; excluded",
    });
  }
  return facts;
}

function Collectives(props: PodProps) {
  const { result } = props;
  const found = useTable(props, "collective_table", result.collective_table);
  const names = textsOf(result.collective_table.columns.name);
  return (
    <section>
      <header class="section-head">
        <h2>Collectives</h2>
        <p class="quiet">
          {names.length > 0
            ? "skew is the time from the first worker's arrival to the last one's; then the transfer begins"
            : ""}
        </p>
      </header>
      {names.length > 0 ? (
        <Grid {...found} label="Collectives" noun={["collective", "collectives"]} sums={false} />
      ) : (
        <p class="quiet">
          No collective in which several workers meet was recorded: which worker waits for which is
          unknown.
        </p>
      )}
    </section>
  );
}
