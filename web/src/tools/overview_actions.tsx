/** What to change, by what it saves; and where to look next. */

import type { Finding, OverviewPage } from "../api/types.gen.ts";
import { fieldLabel } from "../base/fields.ts";
import { duration, percent } from "../base/format.ts";
import { partOf } from "../base/parts.ts";
import type { OverviewProps } from "./overview.tsx";
import { Prose } from "./prose.tsx";

export function OverviewActions(props: OverviewProps) {
  const { findings, next_steps: nextSteps } = props.result;
  return (
    <section class="actions-section">
      <header class="section-head">
        <h2>What to do</h2>
        {findings.length > 1 && <p class="quiet">by the time it saves</p>}
      </header>
      {findings.length > 0 ? (
        <ol class="findings">
          {findings.map((finding) => (
            <FindingItem key={finding.rule + finding.message} finding={finding} {...props} />
          ))}
        </ol>
      ) : (
        <NothingFound result={props.result} />
      )}
      {nextSteps.length > 0 && (
        <>
          <h3>Look next</h3>
          <ul class="next-steps">
            {nextSteps.map((step) => (
              <li key={step}>
                <Prose {...props} text={step} />
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

/** No advice is an answer too: it names what the step's time goes to instead. */
function NothingFound({ result }: { result: OverviewPage }) {
  const parts = Object.entries(result.breakdown_ms)
    .flatMap(([id, ms]) => (ms === null || ms <= 0 ? [] : [{ label: partOf(id).label, ms }]))
    .sort((a, b) => b.ms - a.ms)
    .slice(0, 3);
  return (
    <p>
      No rule of advice found a saving in this profile.
      {parts.length > 0 &&
        ` The largest parts of the step are ${parts
          .map(({ label, ms }) => `${label.toLowerCase()} (${duration(ms, "ms")})`)
          .join(", ")}.`}
    </p>
  );
}

function FindingItem({ finding, ...props }: OverviewProps & { finding: Finding }) {
  const saving = finding.saving_ms;
  return (
    <li>
      <p class="finding-head">
        <strong class="finding-saving">
          {saving === null ? "not bounded" : `up to ${duration(saving, "ms")} per step`}
        </strong>
        <span class="quiet">
          {finding.severity}
          {finding.confidence !== null && `, ${percent(finding.confidence)} sure`}
        </span>
      </p>
      <p>
        <Prose {...props} text={finding.message} />
      </p>
      {finding.actions.length > 0 && (
        <ul class="finding-actions">
          {finding.actions.map((action) => (
            <li key={action}>
              <Prose {...props} text={action} />
            </li>
          ))}
        </ul>
      )}
      {finding.evidence.length > 0 && <Evidence {...props} evidence={finding.evidence} />}
    </li>
  );
}

/** Where to see that a finding is true; links only where they lead away from here. */
function Evidence({ evidence, tool, pageFor }: OverviewProps & Pick<Finding, "evidence">) {
  return (
    <p class="quiet evidence">
      Evidence:{" "}
      {evidence.map((ref, index) => {
        const page = ref.tool === tool.id ? null : pageFor(ref.tool);
        const name = ref.tool === tool.id ? "this page" : (page?.title ?? fieldLabel(ref.tool));
        return (
          <span key={ref.tool + ref.what}>
            {index > 0 && "; "}
            {page ? <a href={page.href}>{name}</a> : name}
            {ref.what && `, ${ref.what}`}
          </span>
        );
      })}
    </p>
  );
}
