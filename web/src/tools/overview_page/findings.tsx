/** All findings as a tree of causes, and the rules that found nothing. */

import type { AdviceInfo, Finding } from "../../api/types.gen.ts";
import { duration, plural, roughly } from "../../base/format.ts";
import { partOf } from "../../base/parts.ts";
import { visible, withUnits } from "../../base/text.ts";
import { type Branch, causeTree, timeAfter } from "../../engine/advice/findings.ts";
import { Prose } from "../sections/prose.tsx";
import type { AdviceState } from "./advice.ts";
import { Evidence } from "./evidence.tsx";
import { hasSteps } from "./figures.tsx";
import { OtherRules } from "./other_rules.tsx";
import type { OverviewProps } from "./props.ts";
import { placeText, savingText, type Whole } from "./saving.ts";

interface FindingsProps extends OverviewProps {
  readonly advice: AdviceState;
  readonly findings: readonly Finding[];
  readonly whole: Whole;
}

export function Findings(props: FindingsProps) {
  const { advice, findings, whole } = props;
  const tree = causeTree(findings);
  const all: AdviceInfo | null = typeof advice === "string" ? null : advice;
  return (
    <section id="findings" class="actions-section" tabIndex={-1} aria-busy={advice === "waiting"}>
      <header class="section-head">
        <h2>What to do</h2>
        <p class="quiet">{note(advice, tree, whole)}</p>
      </header>
      {tree.length > 0 && <Branches {...props} branches={tree} level={1} />}
      {tree.length === 0 && all && <NothingFound {...props} />}
      {all && <OtherRules advice={all} />}
    </section>
  );
}

function note(advice: AdviceState, tree: readonly Branch<Finding>[], whole: Whole): string {
  if (advice === "waiting") return "still reading the other tools …";
  const some = tree.filter(({ finding }) => (finding.saving_ms ?? 0) > 0);
  const basis = "largest saving first";
  if (advice === "failed") return "the findings could not be computed";
  if (whole.ms === null || whole.noun !== "step" || some.length < 2) {
    return tree.length > 1 ? basis : "";
  }
  const after = roughly(timeAfter(some, whole.ms), "ms");
  return `${basis}; all fixed: the mean step of ${duration(whole.ms, "ms")}${whole.whose} → about ${after}`;
}

interface BranchesProps extends FindingsProps {
  readonly branches: readonly Branch<Finding>[];
  readonly level: number;
}

function Branches({ branches, level, ...props }: BranchesProps) {
  return (
    <ol class={level === 1 ? "findings" : "findings symptoms"}>
      {branches.map(({ finding, symptoms }) => (
        <li key={finding.rule + finding.message}>
          <FindingItem {...props} finding={finding} isSymptom={level > 1} />
          {symptoms.length > 0 && (
            <>
              <p class="quiet">Causes in turn:</p>
              <Branches {...props} branches={symptoms} level={level + 1} />
            </>
          )}
        </li>
      ))}
    </ol>
  );
}

interface FindingItemProps extends FindingsProps {
  readonly finding: Finding;
  readonly isSymptom: boolean;
}

function FindingItem({ finding, isSymptom, ...props }: FindingItemProps) {
  const place = placeText(finding);
  const causes = finding.explained_by
    .map((rule) => props.findings.find((other) => other.rule === rule)?.title)
    .filter((title) => title !== undefined);
  return (
    <>
      <h3>
        {props.findings.indexOf(finding) + 1}. {withUnits(finding.title || finding.message)}
      </h3>
      <p class="finding-saving">{savingText(finding)}</p>
      {isSymptom && causes.length > 0 && (
        <p class="quiet">Part of: {causes.map((title) => `“${title}”`).join(", ")}</p>
      )}
      {place && (
        <p>
          At <code>{visible(place)}</code>
        </p>
      )}
      {finding.title && (
        <p>
          <Prose {...props} text={[finding.message, finding.why].filter(Boolean).join(" ")} />
        </p>
      )}
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
    </>
  );
}

/** The change as code, when the finding is shown, and when not to believe it. */
function FindingDetails({ finding }: { finding: Finding }) {
  const code = Object.entries(finding.code);
  if (code.length === 0 && !finding.wrong_when && !finding.assumption) return null;
  return (
    <details>
      <summary>{code.length > 0 ? "Show code · When this is wrong" : "When this is wrong"}</summary>
      {code.map(([name, text]) => (
        <div key={name}>
          {code.length > 1 && <p class="quiet">{name}</p>}
          <pre>
            <code>{text}</code>
          </pre>
        </div>
      ))}
      {finding.assumption && <p class="quiet">Assumes that {finding.assumption}.</p>}
      {finding.details.filter(Boolean).map((detail) => (
        <p key={detail} class="quiet">
          {detail}
        </p>
      ))}
      {finding.threshold && <p class="quiet">Shown when: {finding.threshold}.</p>}
      {finding.wrong_when && <p class="quiet">Wrong when: {finding.wrong_when}</p>}
    </details>
  );
}

/** No advice is an answer too: it names what the step's time goes to instead. */
function NothingFound({ result, tool }: OverviewProps) {
  const parts = Object.entries(result.breakdown_ms)
    .flatMap(([id, ms]) =>
      ms === null || ms <= 0 ? [] : [{ label: partOf(id, tool.labels).label, ms }],
    )
    .sort((a, b) => b.ms - a.ms)
    .slice(0, 3);
  return (
    <p>
      No rule found anything to save in this profile.
      {parts.length > 0 &&
        ` The largest ${plural(parts.length, "part")} of the ${hasSteps(result.steps) ? "step" : "recording"}: ${parts
          .map(({ label, ms }) => `${label.toLowerCase()} (${duration(ms, "ms")})`)
          .join(", ")}.`}
    </p>
  );
}
