/** Overview: the verdict, five figures, the average step, the steps, what to do, the top ops. */

import { useEffect, useState } from "preact/hooks";
import type { OverviewPage } from "../../api/types.gen.ts";
import { count, duration, plural, wholePercent } from "../../base/format.ts";
import { LIMIT_COLOURS, partsFor } from "../../base/parts.ts";
import { withUnits } from "../../base/text.ts";
import { ChartFrame } from "../../widgets/charts/chart_frame.tsx";
import { StackBar, type StackItem } from "../../widgets/charts/stack_bar.tsx";
import { Grid } from "../../widgets/grid/grid.tsx";
import { Diagnostics } from "../sections/diagnostics.tsx";
import { StepSection } from "../sections/step_section.tsx";
import { useTable, useWithoutConstants } from "../sections/tool_page.tsx";
import { useAdvice } from "./advice.ts";
import { BatchSize } from "./batch_size.tsx";
import { hasSteps, OverviewFigures } from "./figures.tsx";
import { Findings } from "./findings.tsx";
import { FixFirst } from "./fix_first.tsx";
import { partLink } from "./part_links.ts";
import type { OverviewProps } from "./props.ts";
import type { Whole } from "./saving.ts";
import { OverviewRun } from "./this_run.tsx";
import { accountOf, type WindowAccount, WindowBar } from "./window.tsx";

export function Overview(props: OverviewProps) {
  const { result } = props;
  const advice = useAdvice(props.query);
  // Until everything is read: what the overview alone can say.
  const findings = typeof advice === "string" ? result.findings : advice.findings;
  // The first screen does not wait for the rest.
  const [isPainted, setPainted] = useState(false);
  useEffect(() => setPainted(true), []);
  return (
    <div class="overview">
      <Verdict result={result} />
      <FixFirst {...props} {...{ advice }} finding={findings[0]} />
      <AverageStep {...props} />
      <OverviewFigures result={result} />
      {hasSteps(result.steps) && (
        <StepSection
          {...props}
          field="step_table"
          source={result.step_table}
          medianMs={result.steps.time_ms.median}
        />
      )}
      {isPainted && <Below {...props} {...{ advice, findings }} />}
    </div>
  );
}

interface BelowProps extends OverviewProps {
  readonly advice: ReturnType<typeof useAdvice>;
  readonly findings: OverviewPage["findings"];
}

/** All below the first screen. */
function Below({ advice, findings, ...props }: BelowProps) {
  const { result } = props;
  const { binding: ops, said } = useWithoutConstants(useTable(props, "top_ops", result.top_ops));
  const work = props.pageFor("work_table", { group_by: "op" });
  return (
    <>
      <div class="columns-2-1">
        <Findings {...props} {...{ advice, findings, whole: wholeOf(result) }} />
        <div>
          <OverviewRun result={result} />
          <BatchSize {...props} />
        </div>
      </div>
      <section>
        <header class="section-head">
          <h2>Ops with the most self time</h2>
          {said && <p class="quiet">{said}</p>}
          {work && (
            <div class="section-controls">
              <a href={work.href}>All ops</a>
            </div>
          )}
        </header>
        {ops.table.rows > 0 ? (
          <Grid {...ops} label="Ops with the most self time" plain />
        ) : (
          <p class="quiet">No framework op was recorded in this profile.</p>
        )}
      </section>
      <Diagnostics
        diagnostics={result.diagnostics.filter(({ message }) => !isNoted(result, message))}
      />
    </>
  );
}

/** Whether it stands among the notes on this run, there with its host. */
function isNoted({ completeness }: OverviewPage, message: string): boolean {
  return completeness.notes.some((note) => note.endsWith(message));
}

function wholeOf({ steps, environment, hosts }: OverviewPage): Whole {
  const { mean } = steps.time_ms;
  const whose = hosts.length > 1 ? " (the slowest host in each)" : "";
  if (hasSteps(steps)) return { ms: mean, noun: "step", whose };
  return { ms: mean ?? environment.profile_duration_ms, noun: "recording", whose };
}

/** What is known without steps: how long the devices had nothing to do. */
function windowHeadline({ devices, spanMs, busyMs }: WindowAccount): string {
  const idle = wholePercent(1 - busyMs / spanMs);
  const who = devices === 1 ? "The device is" : "Devices are";
  return `${who} idle ${idle} of the ${duration(spanMs, "ms")} between first and last event.`;
}

function Verdict({ result }: { result: OverviewPage }) {
  const { steps, completeness } = result;
  const account = accountOf(result);
  const colour = LIMIT_COLOURS[result.bound_by] ?? "other";
  const partial = completeness.verdict !== "complete";
  return (
    <header class={`verdict bound-${colour}`}>
      <h1>{withUnits(account && steps.count === 0 ? windowHeadline(account) : result.headline)}</h1>
      <p class="quiet">{steps.explanation}</p>
      {partial && (
        <p class="completeness">
          <span class="mark warning">{completeness.verdict}</span>{" "}
          {completeness.notes[0] ?? "This profile is not complete."}
          {completeness.notes.length > 1 && (
            <span class="quiet">
              {" "}
              and {plural(completeness.notes.length - 1, "more note")} below
            </span>
          )}
        </p>
      )}
    </header>
  );
}

/** Whose each step is, where several hosts run them. */
function whose({ hosts }: OverviewPage): string {
  return hosts.length > 1 ? `, each as on the slowest of ${count(hosts.length)} hosts in it` : "";
}

function AverageStep({ result, tool, pageFor }: OverviewProps) {
  const linkOf = (part: string) => partLink(part, pageFor);
  const { steps, breakdown_ms: means, breakdown_std_ms: deviations } = result;
  const mean = steps.time_ms.mean;
  const items: StackItem[] = partsFor(Object.keys(means), tool.labels).map((part) => ({
    part,
    ms: means[part.id] ?? null,
    stdMs: deviations[part.id] ?? null,
  }));
  const sum = items.reduce((total, item) => total + (item.ms ?? 0), 0);
  const account = accountOf(result);
  if (steps.count === 0 && account) return <WindowBar {...{ result, account, linkOf }} />;
  if (steps.count === 0 || !mean || sum <= 0) {
    return (
      <section>
        <h2>Average step</h2>
        <p class="quiet">There is no step to divide into parts. {steps.explanation}</p>
      </section>
    );
  }
  return (
    <ChartFrame
      title={hasSteps(steps) ? "Average step" : "The whole recording"}
      note={
        hasSteps(steps)
          ? `mean of ${plural(steps.count, "step")}${whose(result)}; the parts sum to the step`
          : `${steps.source === "window" && result.times.includes("no step") ? "no steps were found; " : ""}${steps.count > 1 ? `mean of its ${steps.count} parts` : "the parts sum to the recording"}`
      }
      file={`${result.session} average step`}
    >
      <StackBar items={items} totalMs={sum} linkOf={linkOf} />
    </ChartFrame>
  );
}
