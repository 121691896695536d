/** What to change, by what it saves; and where to look next. */

import type { AdviceInfo, Finding, OverviewPage } from "../api/types.gen.ts";
import { fieldLabel } from "../base/fields.ts";
import { duration, percent, plural } from "../base/format.ts";
import { partOf } from "../base/parts.ts";
import { evidenceHref, useAdvice } from "./advice.ts";
import type { OverviewProps } from "./overview.tsx";
import { Prose } from "./prose.tsx";

export function OverviewActions(props: OverviewProps) {
  const { next_steps: nextSteps } = props.result;
  const advice = useAdvice(props.query);
  const all = typeof advice === "string" ? null : advice;
  // Until everything is read: what the overview alone can say.
  const findings = all?.findings ?? props.result.findings;
  return (
    <section class="actions-section" aria-busy={advice === "waiting"}>
      <header class="section-head">
        <h2>What to do</h2>
        {findings.length > 1 && <p class="quiet">causes first, by the time they save</p>}
        {advice === "waiting" && <p class="quiet">reading every tool …</p>}
        {advice === "failed" && <p class="quiet">from the overview alone</p>}
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
      {all && <OtherRules advice={all} />}
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

const OUTCOMES: Readonly<Record<string, string>> = {
  silent: "not found",
  unknown: "this recording cannot tell",
  failed: "the rule broke",
};

/** The rules that looked and did not fire, each with the reason. */
function OtherRules({ advice }: { advice: AdviceInfo }) {
  const rest = advice.checked.filter((one) => one.outcome !== "fired");
  if (rest.length === 0) return null;
  return (
    <details class="other-rules">
      <summary>
        {plural(rest.length, rest.length < advice.checked.length ? "other rule" : "rule")} checked
      </summary>
      <dl>
        {rest.map((one) => (
          <div key={one.rule}>
            <dt>
              {one.title || one.rule} <span class="quiet">{OUTCOMES[one.outcome]}</span>
            </dt>
            <dd class="quiet">{one.reason}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

/** What is expected to be saved, and at most where that is more. */
function savingText({ saving_ms: saving, saving_high_ms: most }: Finding): string {
  if (saving === null) return "not bounded";
  const text = `${duration(saving, "ms")} per step`;
  return most !== null && most > 1.05 * saving ? `${text}, at most ${duration(most, "ms")}` : text;
}

const FRAMEWORKS: Readonly<Record<string, string>> = {
  tensorflow: "TensorFlow",
  jax: "JAX",
  pytorch: "PyTorch",
};

/** The change as code, when not to believe the finding, and what causes it. */
function FindingDetails({ finding }: { finding: Finding }) {
  const code = Object.entries(finding.code);
  if (code.length === 0 && !finding.wrong_when) return null;
  return (
    <details>
      <summary>How, and when not</summary>
      {code.map(([framework, text]) => (
        <figure key={framework}>
          <figcaption>{FRAMEWORKS[framework] ?? framework}</figcaption>
          <pre>
            <code>{text}</code>
          </pre>
        </figure>
      ))}
      {finding.threshold && <p class="quiet">Speaks from: {finding.threshold}.</p>}
      {finding.wrong_when && <p class="quiet">Wrong when: {finding.wrong_when}</p>}
    </details>
  );
}

function FindingItem({ finding, ...props }: OverviewProps & { finding: Finding }) {
  return (
    <li>
      <p class="finding-head">
        <strong class="finding-saving">{savingText(finding)}</strong>
        <span class="quiet">
          {finding.severity}
          {finding.confidence !== null && `, ${percent(finding.confidence)} sure`}
          {finding.explained_by.length > 0 && `, because of ${finding.explained_by.join(", ")}`}
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
      <FindingDetails finding={finding} />
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
            {page ? <a href={evidenceHref(page, ref)}>{name}</a> : name}
            {ref.what && `, ${ref.what}`}
          </span>
        );
      })}
    </p>
  );
}
