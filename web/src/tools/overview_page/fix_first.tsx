/** The one thing to change first: what it saves, how, and where it is to be seen. */

import type { Finding } from "../../api/types.gen.ts";
import { visible, withUnits } from "../../base/text.ts";
import { Prose } from "../sections/prose.tsx";
import { type AdviceState, showMe } from "./advice.ts";
import type { OverviewProps } from "./props.ts";
import { placeText, savingText } from "./saving.ts";

interface FixFirstProps extends OverviewProps {
  readonly finding: Finding | undefined;
  readonly advice: AdviceState;
}

/** What the overview alone finds may not be the first of all: nothing is named until all is read. */
export function FixFirst(props: FixFirstProps) {
  const { finding, advice } = props;
  const waiting = advice === "waiting";
  return (
    <section class="fix-first" aria-label="Fix first" aria-busy={waiting}>
      {finding && !waiting ? <Card {...props} finding={finding} /> : <Nothing advice={advice} />}
    </section>
  );
}

function Card({ finding, ...props }: FixFirstProps & { readonly finding: Finding }) {
  const seen = showMe(finding, props);
  const [code] = Object.values(finding.code);
  // An action that is code stands there once, as code.
  const action = finding.actions[0] === code ? "" : finding.actions[0];
  const place = placeText(finding);
  return (
    <>
      <div class="fix-first-text">
        <p class="quiet fix-first-label">
          {finding.severity === "info" ? "Look here first" : "Fix first"}
        </p>
        <h2>{withUnits(finding.title || finding.message)}</h2>
        <p class="finding-saving">{savingText(finding)}</p>
        {place ? (
          <p>
            At <code>{visible(place)}</code>
          </p>
        ) : (
          finding.title && (
            <p>
              <Prose {...props} text={finding.message} />
            </p>
          )
        )}
        {action && (
          <p>
            <Prose {...props} text={action} />
          </p>
        )}
      </div>
      {code && (
        <pre>
          <code>{code}</code>
        </pre>
      )}
      <p class="fix-first-links">
        {seen && (
          <a class="button primary" href={seen.href} title={`Opens ${seen.title}`}>
            Show me
          </a>
        )}
        <button type="button" class="link" onClick={toFindings}>
          All findings
        </button>
      </p>
    </>
  );
}

/** Not by an address: the hash of the page is its state. */
function toFindings(): void {
  const findings = document.getElementById("findings");
  findings?.scrollIntoView({ block: "start" });
  findings?.focus({ preventScroll: true });
}

function Nothing({ advice }: { advice: AdviceState }) {
  const [title, text] =
    typeof advice === "string"
      ? WITHOUT_ADVICE[advice]
      : [
          "No rule found anything to save.",
          "The list of rules below says what each one looked for and found.",
        ];
  return (
    <div class="fix-first-text">
      <p class="quiet fix-first-label">Fix first</p>
      <h2>{title}</h2>
      {text && <p class="quiet">{text}</p>}
    </div>
  );
}

const WITHOUT_ADVICE = {
  waiting: ["Checking every rule …", ""],
  failed: [
    "The findings could not be computed.",
    "The numbers on this page stand without them. stepscope advise gives the reason.",
  ],
} as const;
