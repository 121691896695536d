/** The runs that one can be compared with, and what tells whether that means anything. */

import { duration, plural } from "../../base/format.ts";
import { visible } from "../../base/text.ts";
import { PlainTable } from "../../widgets/plain_table.tsx";
import { useRunFacts } from "../sections/run_facts.ts";

/** More are found by name. */
const MOST_RUNS = 12;

interface CandidatesProps {
  /** Newest first. */
  readonly runs: readonly string[];
  /** The devices of the run that is looked at. */
  readonly devices: string;
  readonly onChoose: (run: string) => void;
}

export function Candidates({ runs, devices, onChoose }: CandidatesProps) {
  const listed = runs.slice(0, MOST_RUNS);
  const facts = useRunFacts(listed);
  return (
    <section>
      <header class="section-head">
        <h2>Runs to compare with</h2>
        {runs.length > listed.length && (
          <p class="quiet">
            the newest {listed.length} of {plural(runs.length, "run")}
          </p>
        )}
      </header>
      <PlainTable
        kind="spaced candidates"
        heads={["Run", "Devices", "Step time", "Verdict"]}
        isNumeric={(column) => column === 2}
        rows={listed.map((run) => {
          const found = facts.get(run);
          const step = found?.step_time_ms;
          return [
            <button key={run} type="button" class="link" onClick={() => onChoose(run)}>
              {visible(run)}
            </button>,
            <>
              {found ? visible(found.device) || "–" : "…"}
              {found?.device.includes(devices) && <strong> (the same)</strong>}
            </>,
            step == null ? "–" : duration(step, "ms"),
            visible(found?.headline || found?.problem || ""),
          ];
        })}
      />
    </section>
  );
}
