/** A stretch of time as a flame: to look closer, to search, and against another stretch. */

import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { categoryToken } from "../../base/category_tokens.ts";
import { count, duration, percent, plural } from "../../base/format.ts";
import type { FlameAnswer } from "../../base/timeline.ts";
import { flameChange } from "../../engine/flame/change.ts";
import { flameHits } from "../../engine/flame/search.ts";
import { FlameTree, flameNames } from "./flame_tree.tsx";

const LEVELS = 24;

interface FlameChartProps {
  readonly label: string;
  readonly answer: FlameAnswer;
  /** Of the recording: what the categories of the answer stand for. */
  readonly categories: readonly string[];
  readonly beside?: ComponentChildren;
  /** Where the longest event of the node that is looked at leads. */
  readonly example: (event: number) => ComponentChildren;
}

export function FlameChart({ label, answer, categories, beside, example }: FlameChartProps) {
  const [focus, setFocus] = useState<{ answer: FlameAnswer; row: number } | null>(null);
  const [sought, setSought] = useState("");
  const change = useMemo(() => flameChange(answer), [answer]);
  const hits = useMemo(() => flameHits(answer, sought), [answer, sought]);
  if (answer.parent.length < 2) return <p class="quiet">Nothing ran in this range.</p>;
  const root = focus?.answer === answer ? focus.row : 0;
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
        <FlameTree
          label={label}
          answer={answer}
          categories={categories}
          change={change}
          marks={hits?.marks ?? null}
          levels={LEVELS}
          root={root}
          onRoot={(row) => setFocus({ answer, row: Math.max(0, row) })}
        />
        {beside}
      </div>
      <p class="flame-focus">
        {root > 0 && (
          <>
            <span>
              {flameNames(answer)[root]}: {duration(answer.total_ps[root] ?? 0, "ps")}
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
