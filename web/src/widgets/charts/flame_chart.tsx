/** A stretch of time as a flame: to look closer, to search, and against another stretch. */

import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { categoryToken } from "../../base/category_tokens.ts";
import { count, duration, percent, plural, signedDuration } from "../../base/format.ts";
import { shortName } from "../../base/short_name.ts";
import { visible } from "../../base/text.ts";
import type { FlameAnswer } from "../../base/timeline.ts";
import { changeClass, flameChange } from "../../engine/flame/change.ts";
import { flameHits } from "../../engine/flame/search.ts";
import { treeOf } from "../../engine/table/tree.ts";
import { Icicle } from "./icicle.tsx";
import { TipFacts } from "./tip_facts.tsx";

const LEVELS = 24;
const NO_FILL = new Float64Array(0);
const LONGEST_TITLE = 300;

interface FlameChartProps {
  readonly label: string;
  readonly answer: FlameAnswer;
  /** Of the recording: what the categories of the answer stand for. */
  readonly categories: readonly string[];
  /** What comes beside the flame; it may look for a name in it. */
  readonly beside?: (seek: (name: string) => void) => ComponentChildren;
  /** Where the longest event of the node that is looked at leads. */
  readonly example: (event: number) => ComponentChildren;
}

export function FlameChart({ label, answer, categories, beside, example }: FlameChartProps) {
  const [focus, setFocus] = useState<{ answer: FlameAnswer; row: number } | null>(null);
  const [sought, setSought] = useState("");
  const tree = useMemo(
    () =>
      treeOf(
        answer.parent.map((_, row) => row),
        answer.parent,
      ),
    [answer],
  );
  const names = useMemo(
    () => answer.name.map((name, row) => (row ? shortName(visible(name)) || "(no name)" : "all")),
    [answer],
  );
  const change = useMemo(() => flameChange(answer), [answer]);
  const hits = useMemo(() => flameHits(answer, sought), [answer, sought]);
  const values = useMemo(
    () =>
      Float64Array.from(answer.total_ps, (after, row) => Math.max(after, change?.before[row] ?? 0)),
    [answer, change],
  );
  if (answer.parent.length < 2) return <p class="quiet">Nothing ran in this range.</p>;
  const root = focus?.answer === answer ? focus.row : 0;
  const hueOf = (row: number) =>
    [change ? changeClass(change, row) : "", hits ? (hits.marks[row] ? "hit" : "dim") : ""].join(
      " ",
    );
  // Colour says what took more or less where two stretches are compared, and else what runs.
  const toneOf = (row: number) => {
    const category = categories[answer.category[row] ?? -1];
    return change || hits?.marks[row] || !category ? "" : categoryToken(category);
  };
  const longest = answer.example[root] ?? -1;
  return (
    <div class="flame">
      <p class="flame-find">
        <input
          type="search"
          class="field"
          aria-label="Find a name"
          placeholder="Find a name"
          value={sought}
          onInput={(event) => setSought(event.currentTarget.value)}
        />
        <span class="quiet" role="status">
          {hits
            ? `${plural(hits.count, "place")}, ${duration(hits.total_ps, "ps")} (${percent(hits.total_ps / (answer.total_ps[0] || 1))})`
            : said(answer, change)}
        </span>
      </p>
      {!change && <CategoryKey answer={answer} categories={categories} />}
      <div class={beside ? "flame-beside" : undefined}>
        <Icicle
          label={label}
          tree={tree}
          values={values}
          names={names}
          fill={NO_FILL}
          isFaint={() => false}
          hueOf={hueOf}
          toneOf={toneOf}
          levels={LEVELS}
          root={root}
          onRoot={(row) => setFocus({ answer, row: Math.max(0, row) })}
          tip={(row) => <NodeTip answer={answer} row={row} change={change} />}
        />
        {beside?.(setSought)}
      </div>
      <p class="flame-focus">
        {root > 0 && (
          <>
            <span>
              {names[root]}: {duration(answer.total_ps[root] ?? 0, "ps")}
            </span>
            {longest >= 0 && example(longest)}
            <button type="button" class="button" onClick={() => setFocus(null)}>
              Show all
            </button>
          </>
        )}
      </p>
    </div>
  );
}

/** Names of the colours, in the recording's order. */
function CategoryKey({ answer, categories }: Pick<FlameChartProps, "answer" | "categories">) {
  const present = new Set(answer.category);
  return (
    <ul class="part-key quiet">
      {categories.map(
        (name, category) =>
          present.has(category) && (
            <li key={name}>
              <svg class="swatch" width="12" height="12" aria-hidden="true">
                <rect
                  width="12"
                  height="12"
                  rx="2"
                  style={{ fill: `var(${categoryToken(name)})` }}
                />
              </svg>
              {name}
            </li>
          ),
      )}
    </ul>
  );
}

function said(answer: FlameAnswer, change: ReturnType<typeof flameChange>): string {
  const width = change
    ? `Width: the longer of the two${change.scaled ? ", as if both ranges were as long" : ""}. Red took more than before, blue less.`
    : "Width: time of a name and of what it contains. Click to zoom in.";
  return answer.left_out > 0
    ? `${width} ${count(answer.left_out)} smaller ones are not drawn.`
    : width;
}

interface NodeTipProps {
  readonly answer: FlameAnswer;
  readonly row: number;
  readonly change: ReturnType<typeof flameChange>;
}

function NodeTip({ answer, row, change }: NodeTipProps) {
  const total = answer.total_ps[row] ?? 0;
  const whole = answer.total_ps[0] || 1;
  const before = change?.before[row];
  return (
    <TipFacts
      title={row === 0 ? "all" : visible(answer.name[row] ?? "").slice(0, LONGEST_TITLE)}
      facts={[
        ["Time", duration(total, "ps")],
        ["Share", percent(total / whole)],
        ["Self time", duration(answer.self_ps[row] ?? 0, "ps")],
        ["Events", count(answer.count[row] ?? 0)],
        ["Before", before === undefined ? "" : duration(before, "ps")],
        ["Change", before === undefined ? "" : signedDuration(total - before, "ps")],
      ]}
    />
  );
}
