/** The slices of a flame, coloured by what runs, or by change where two stretches are compared. */

import { useMemo } from "preact/hooks";
import { categoryToken } from "../../base/category_tokens.ts";
import { count, duration, percent, signedDuration } from "../../base/format.ts";
import { shortName } from "../../base/short_name.ts";
import { visible } from "../../base/text.ts";
import type { FlameAnswer } from "../../base/timeline.ts";
import { changeClass, type FlameChange } from "../../engine/flame/change.ts";
import { treeOf } from "../../engine/table/tree.ts";
import { Icicle } from "./icicle.tsx";
import { TipFacts } from "./tip_facts.tsx";

const LONGEST_TITLE = 300;

export interface FlameTreeProps {
  readonly label: string;
  readonly answer: FlameAnswer;
  /** Of the recording: what the categories of the answer stand for. */
  readonly categories: readonly string[];
  readonly change: FlameChange | null;
  /** Rows that are lit, the others dimmed; null where nothing is sought. */
  readonly marks: ArrayLike<number> | null;
  readonly levels: number;
  readonly root: number;
  readonly onRoot: (row: number) => void;
}

/** Names as slices show them. */
export function flameNames(answer: FlameAnswer): string[] {
  return answer.name.map((name, row) => (row ? shortName(visible(name)) || "(no name)" : "all"));
}

export function FlameTree(props: FlameTreeProps) {
  const { label, answer, categories, change, marks, levels, root, onRoot } = props;
  const tree = useMemo(
    () =>
      treeOf(
        answer.parent.map((_, row) => row),
        answer.parent,
      ),
    [answer],
  );
  const names = useMemo(() => flameNames(answer), [answer]);
  const values = useMemo(
    () =>
      Float64Array.from(answer.total_ps, (after, row) => Math.max(after, change?.before[row] ?? 0)),
    [answer, change],
  );
  const hueOf = (row: number) =>
    [change ? changeClass(change, row) : "", marks ? (marks[row] ? "hit" : "dim") : ""].join(" ");
  // Colour says what took more or less where two stretches are compared, and else what runs.
  const colourOf = (row: number) => {
    const category = categories[answer.category[row] ?? -1];
    return change || marks?.[row] || !category ? "" : `var(${categoryToken(category)})`;
  };
  return (
    <Icicle
      label={label}
      tree={tree}
      values={values}
      names={names}
      isFaint={() => false}
      hueOf={hueOf}
      colourOf={colourOf}
      levels={levels}
      root={root}
      onRoot={onRoot}
      tip={(row) => <NodeTip answer={answer} row={row} change={change} />}
    />
  );
}

interface NodeTipProps {
  readonly answer: FlameAnswer;
  readonly row: number;
  readonly change: FlameChange | null;
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
