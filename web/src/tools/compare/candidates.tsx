/** The runs that one can be compared with, and what tells whether that means anything. */

import { duration, plural } from "../../base/format.ts";
import { visible } from "../../base/text.ts";
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
      <table class="plain-table spaced candidates">
        <colgroup>
          <col class="candidate-run" />
          <col class="candidate-devices" />
          <col class="candidate-time" />
          <col />
        </colgroup>
        <thead>
          <tr>
            <th scope="col">Run</th>
            <th scope="col">Devices</th>
            <th scope="col" class="numeric">
              Step time
            </th>
            <th scope="col">Verdict</th>
          </tr>
        </thead>
        <tbody>
          {listed.map((run) => {
            const found = facts.get(run);
            const isAlike = found?.device.includes(devices) === true;
            const step = found?.step_time_ms;
            return (
              <tr key={run}>
                <th scope="row">
                  <button type="button" class="link" onClick={() => onChoose(run)}>
                    {visible(run)}
                  </button>
                </th>
                <td>
                  {found ? visible(found.device) || "–" : "…"}
                  {isAlike && <strong> (the same)</strong>}
                </td>
                <td class="numeric">{step == null ? "–" : duration(step, "ms")}</td>
                <td>{visible(found?.headline || found?.problem || "")}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}
