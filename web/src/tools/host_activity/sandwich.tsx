/** One name of the stacks: who calls it above, whom it calls below. */

import { useMemo, useState } from "preact/hooks";
import { getFlame, type TimelineScope } from "../../api/timeline.ts";
import { duration, percent } from "../../base/format.ts";
import { shortName } from "../../base/short_name.ts";
import { visible } from "../../base/text.ts";
import type { FlameAnswer } from "../../base/timeline.ts";
import { flameChange } from "../../engine/flame/change.ts";
import { CHOSEN, neighbours } from "../../engine/flame/sandwich.ts";
import { FlameTree } from "../../widgets/charts/flame_tree.tsx";
import { PlainTable } from "../../widgets/plain_table.tsx";
import { type Asked, useAsked } from "./asked.ts";

const MOST_NAMES = 40;
const LEVELS = 10;

interface SandwichProps {
  readonly scope: TimelineScope;
  readonly question: Readonly<Record<string, string | number>>;
  readonly of: string;
  /** Time of all threads and stacks asked about, ps; 0 while it is not known. */
  readonly whole: number;
  readonly categories: readonly string[];
  /** Another name is chosen; "" goes back to all stacks. */
  readonly onOf: (name: string) => void;
}

export function Sandwich(props: SandwichProps) {
  const { scope, question, of, whole, onOf } = props;
  const callers = useSide(scope, question, of, "callers");
  const callees = useSide(scope, question, of, "callees");
  const problem = callers.problem || callees.problem;
  const total = callees.value?.total_ps[CHOSEN];
  const own = callees.value?.self_ps[CHOSEN];
  const facts = [
    total === undefined ? "" : duration(total, "ps"),
    total !== undefined && whole > 0 ? `${percent(total / whole)} of all` : "",
    own === undefined ? "" : `${duration(own, "ps")} of its own`,
  ];
  return (
    <section class="sandwich" aria-label="Callers and callees">
      <p class="sandwich-head">
        <button type="button" class="button" onClick={() => onOf("")}>
          ← All stacks
        </button>
        <strong title={visible(of)}>{shortName(visible(of)) || "(no name)"}</strong>
        <span class="quiet">{facts.filter(Boolean).join(" · ")}</span>
      </p>
      {problem && <p class="quiet">{problem}</p>}
      {!problem && (
        <>
          <Side {...props} title="Callers" none="Nothing calls it." answer={callers.value} />
          <Side {...props} title="Callees" none="It calls nothing." answer={callees.value} />
        </>
      )}
    </section>
  );
}

function useSide(
  scope: TimelineScope,
  question: SandwichProps["question"],
  of: string,
  side: "callers" | "callees",
): Asked<FlameAnswer> {
  const asked = { ...question, of, side, inverted: "" };
  return useAsked(JSON.stringify([scope, asked]), (signal) => getFlame(scope, asked, signal));
}

interface SideProps extends SandwichProps {
  readonly title: string;
  readonly none: string;
  readonly answer: FlameAnswer | null;
}

function Side({ title, none, answer, categories, onOf }: SideProps) {
  const [zoom, setZoom] = useState<{ answer: FlameAnswer; row: number } | null>(null);
  const change = useMemo(() => answer && flameChange(answer), [answer]);
  const rows = answer ? neighbours(answer) : [];
  const whole = answer?.total_ps[CHOSEN] || 1;
  return (
    <div class="sandwich-side">
      <h3 class="sandwich-title">{title}</h3>
      {!answer && <p class="quiet">Asking for the times …</p>}
      {answer && rows.length === 0 && <p class="quiet">{none}</p>}
      {answer && rows.length > 0 && (
        <div class="sandwich-pair">
          <FlameTree
            label={title}
            answer={answer}
            categories={categories}
            change={change}
            marks={null}
            levels={LEVELS}
            root={zoom?.answer === answer ? zoom.row : CHOSEN}
            onRoot={(row) => setZoom({ answer, row: Math.max(CHOSEN, row) })}
          />
          <section class="sandwich-names" tabIndex={0} aria-label={`${title}, times`}>
            <PlainTable
              kind="compact"
              heads={[title === "Callers" ? "Called by" : "Calls", "Time", "Share"]}
              isNumeric={(column) => column > 0}
              rows={rows.slice(0, MOST_NAMES).map((row) => [
                <button
                  type="button"
                  class="link"
                  title={visible(answer.name[row] ?? "")}
                  onClick={() => onOf(answer.name[row] ?? "")}
                >
                  {shortName(visible(answer.name[row] ?? "")) || "(no name)"}
                </button>,
                duration(answer.total_ps[row] ?? 0, "ps"),
                percent((answer.total_ps[row] ?? 0) / whole),
              ])}
            />
          </section>
        </div>
      )}
    </div>
  );
}
