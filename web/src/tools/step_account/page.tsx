/** Step account: every moment of the step, as parts that one change would concern. */

import { byName } from "../../api/columns.ts";
import type { StepAccount as Account } from "../../api/types.gen.ts";
import { count, duration, MISSING, percent, plural } from "../../base/format.ts";
import type { Fact } from "../../widgets/facts.tsx";
import { ToolFrame } from "../sections/frame.tsx";
import { TableSection } from "../sections/table_section.tsx";
import type { ToolPageProps } from "../sections/tool_page.tsx";

type AccountProps = ToolPageProps<Account>;

/** What and how long, then where: the time must be in sight however much is known of the place. */
const PARTS = ["name", "kind", "time_ms", "step_frac", "file", "line", "function", "caller"];
const HIDDEN = ["first_frac"];
const OWNERS = ["name", "kind", "family", "time_ms", "step_frac", "file", "line", "function"];

const TABLES = [
  ["calls", "Calls", "from the loop inwards, each with all that it calls", ["call", "calls"]],
  ["rivals", "Other threads that run Python", "beside the loop", ["thread", "threads"]],
  ["lock_holders", "Who has the lock", "that the loop waits for", ["place", "places"]],
] as const;

export function StepAccount(props: AccountProps) {
  const { result } = props;
  const parts = byName(result.parts);
  return (
    <ToolFrame headline={result.headline} figures={figures(result)} result={result}>
      <Asides {...props} />
      <TableSection
        {...props}
        field="parts"
        title="Parts"
        note={`They sum to ${whole(result)}; a part is what one change would concern.`}
        none="Nothing was recorded."
        noun={["part", "parts"]}
        source={parts}
        first={PARTS}
        hidden={HIDDEN}
        main
        constants
      />
      <TableSection
        {...props}
        field="owners"
        title="Owners"
        note="What the parts are made of, each with the line that it is called from."
        none="Nothing was recorded."
        noun={["owner", "owners"]}
        source={byName(result.owners)}
        first={OWNERS}
        main
        constants
      />
      {TABLES.map(([field, title, note, noun]) => (
        <TableSection
          key={field}
          {...props}
          {...{ field, title, note, noun }}
          source={result[field]}
        />
      ))}
    </ToolFrame>
  );
}

function whole(result: Account): string {
  return result.is_window || result.times_of === "recording" ? "the recording" : "the step";
}

function figures(result: Account): Fact[] {
  const ms = (value: number | null) => (value === null ? MISSING : duration(value, "ms"));
  const { columns } = result.parts;
  // The recorder's time, where events were corrected, is no share of the step.
  const top = columns.step_frac.findIndex((share) => share !== null);
  const facts: Fact[] = [
    {
      label: result.is_window ? "Recorded" : "Step time",
      value: ms(result.step_time_ms),
      note: result.is_window
        ? "no steps were found"
        : `mean of ${count(result.step_count)} counted`,
    },
    {
      label: "Parts",
      value: count(result.parts.rows),
      note: `which sum to ${whole(result)}`,
    },
    {
      label: "Largest part",
      value: percent(columns.step_frac[top] ?? NaN),
      note: ms(columns.time_ms[top] ?? null),
    },
    {
      label: "Busy",
      value: ms(result.busy_ms),
      note: result.has_device ? "while a device computes" : "while anything computes",
    },
  ];
  if ((result.recorder_ms ?? 0) > 0) {
    facts.push({
      label: "Recorder",
      value: ms(result.recorder_ms),
      note: "the recording's own work, no part of the program",
    });
  }
  return facts;
}

/** What the account noticed beside the parts, in sentences. */
function Asides({ result }: AccountProps) {
  const { growth, unused_gradients: unused, repeated_gradients: repeated } = result;
  const { unclaimed_gradients: unclaimed } = result;
  if (!growth && !unused && !repeated && !unclaimed) return null;
  return (
    <div>
      {growth && (
        <p>
          Each step runs more ops than the one before: {count(growth.first_ops)} in the first,{" "}
          {count(growth.last_ops)} in the last{growth.op && `, most of them ${growth.op}`}.
        </p>
      )}
      {unused && (
        <p>
          {duration(unused.time_ms ?? 0, "ms")} of each step go to{" "}
          {plural(Math.round(unused.ops ?? 0), "forward op")} whose gradients nothing computes
          {unused.file && `, at ${unused.file}:${unused.line} ${unused.function}`}.
        </p>
      )}
      {repeated && (
        <p>
          {duration(repeated.time_ms ?? 0, "ms")} of each step go to gradients that were computed in
          it before: {count(repeated.times ?? 0)} times in all
          {repeated.file && `, at ${repeated.file}:${repeated.line} ${repeated.function}`}.
        </p>
      )}
      {unclaimed && (
        <p>
          {duration(unclaimed.time_ms ?? 0, "ms")} of each step go to gradients that no optimizer
          takes: of {count(unclaimed.ops ?? 0)} parameters {count(unclaimed.updated ?? 0)} are
          updated.
        </p>
      )}
    </div>
  );
}
