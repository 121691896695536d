/** Which run to compare with: a choice that stays, whatever became of the comparison. */

import { textsOf } from "../../api/columns.ts";
import type { Comparison } from "../../api/types.gen.ts";
import { visible } from "../../base/text.ts";
import { formatHash, parseHash } from "../../engine/address.ts";
import { Notice } from "../../widgets/notice.tsx";
import { Picker } from "../../widgets/overlay/picker.tsx";
import { optionOf, type RecoverProps } from "../sections/tool_page.tsx";
import { Candidates } from "./candidates.tsx";

export function Baseline(props: RecoverProps) {
  const option = optionOf(props, "baseline");
  return (
    <Picker
      what="Compared with"
      name="Baselines"
      placeholder="Find a run"
      current={option.value}
      onChoose={option.onValue}
      choices={option.choices.map((id) => ({ id, label: visible(id) }))}
    />
  );
}

/** Leads to the same comparison from the other side. */
export function SwapSides(props: RecoverProps) {
  const { run = "", baseline_starts = "", starts = "" } = { ...props.query, ...props.params };
  const baseline = optionOf(props, "baseline").value;
  const params = {
    ...props.params,
    baseline: run,
    baseline_starts: starts,
    starts: baseline_starts,
  };
  const here = parseHash(window.location.hash);
  return (
    <a
      class="button"
      href={formatHash({ ...here, run: baseline, host: "", params })}
      title={`Compare ${visible(baseline)} with ${visible(run)}`}
    >
      Swap sides
    </a>
  );
}

/** Hardware of both runs where it differs; null where it does not, or is not known. */
export function otherHardware({ parity }: Comparison): readonly [string, string] | null {
  const { property, status, baseline, candidate } = parity.columns;
  const row = textsOf(property).indexOf("devices");
  if (row < 0 || status[row] !== "differs") return null;
  return [textsOf(baseline)[row] ?? "", textsOf(candidate)[row] ?? ""];
}

interface AskProps extends RecoverProps {
  readonly hardware: readonly [string, string];
}

/** Instead of a number that means nothing: nobody chose this baseline. */
export function AskForBaseline(props: AskProps) {
  const option = optionOf(props, "baseline");
  const [before, after] = props.hardware;
  return (
    <div class="tool-page">
      <Notice
        title="Choose a run to compare with."
        actions={
          <>
            <Baseline {...props} />{" "}
            <button type="button" class="button" onClick={() => option.onValue(option.value)}>
              Compare anyway
            </button>
          </>
        }
      >
        <p>
          The run before, <code>{visible(option.value)}</code>, was recorded on other hardware:{" "}
          {before}. This run used {after}.
        </p>
      </Notice>
      <Candidates runs={option.choices} devices={after} onChoose={option.onValue} />
    </div>
  );
}
