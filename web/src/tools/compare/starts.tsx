/** Several starts on each side: which runs they are, and what they say together. */

import type { Comparison } from "../../api/types.gen.ts";
import { duration, MISSING, percent, plural, signedDuration } from "../../base/format.ts";
import { visible } from "../../base/text.ts";
import type { Fact } from "../../widgets/facts.tsx";
import { Grid } from "../../widgets/grid/grid.tsx";
import { Popover } from "../../widgets/overlay/popover.tsx";
import { optionOf, useTable } from "../sections/tool_page.tsx";
import type { CompareProps } from "./props.ts";

type Starts = NonNullable<Comparison["starts"]>;

const SIDES = [
  ["", "not compared"],
  ["baseline_starts", "a start of the baseline"],
  ["starts", "a start of this run"],
] as const;

const listed = (text: string | undefined) => (text ?? "").split(",").filter(Boolean);

/** What each other run is: a start of one side, of the other, or of neither. */
export function StartsMenu(props: CompareProps) {
  const { params, onParams, runs, query } = props;
  const baseline = optionOf(props, "baseline").value;
  const others = runs.filter((run) => run !== baseline && run !== query.run);
  if (others.length === 0) return null;
  const sideOf = (run: string) =>
    SIDES.find(([side]) => side && listed(params[side]).includes(run))?.[0] ?? "";
  const choose = (run: string, side: string) => {
    const next = { ...params };
    for (const each of ["baseline_starts", "starts"] as const) {
      const kept = listed(params[each]).filter((one) => one !== run);
      next[each] = (each === side ? [...kept, run] : kept).join(",");
    }
    // Runs between belong to a course, which starts are not.
    onParams({ ...next, baseline, between: "" });
  };
  return (
    <Popover label="More starts">
      {() => (
        <div class="menu starts-menu">
          <p class="quiet">
            Several recordings of each program show what its starts differ by: that counts as noise.
          </p>
          {others.map((run) => (
            <label key={run}>
              <span>{visible(run)}</span>
              <select
                class="field"
                value={sideOf(run)}
                onChange={(event) => choose(run, event.currentTarget.value)}
              >
                {SIDES.map(([side, label]) => (
                  <option key={side} value={side}>
                    {label}
                  </option>
                ))}
              </select>
            </label>
          ))}
        </div>
      )}
    </Popover>
  );
}

/** Every start with its step time. */
export function StartsTable(props: CompareProps) {
  return props.result.starts ? <Table {...props} starts={props.result.starts} /> : null;
}

function Table(props: CompareProps & { readonly starts: Starts }) {
  const { starts, result } = props;
  const binding = useTable(props, "starts.runs", starts.runs);
  return (
    <section>
      <header class="section-head">
        <h2>Starts</h2>
        <p class="quiet">
          below, {visible(result.candidate.name)} is compared with {visible(result.baseline.name)}:
          the middle of each side
        </p>
      </header>
      <Grid {...binding} exportHref={undefined} label="Starts" sums={false} />
    </section>
  );
}

export function startFigures(starts: Starts): Fact[] {
  const sides = starts.runs.columns.side;
  const of = (side: string) => plural(sides.filter((each) => each === side).length, "start");
  const ms = (value: number | null) => (value === null ? MISSING : duration(value, "ms"));
  const signed = (value: number | null | undefined) =>
    value == null ? MISSING : signedDuration(value, "ms");
  const { delta_frac: share, interval_ms: interval, significant } = starts;
  return [
    { label: "Step before", value: ms(starts.baseline_ms), note: `mean of ${of("baseline")}` },
    { label: "Step after", value: ms(starts.candidate_ms), note: `mean of ${of("candidate")}` },
    {
      label: "Change",
      value: signed(starts.delta_ms),
      note: share === null ? "" : `${share > 0 ? "+" : ""}${percent(share)}`,
    },
    {
      label: "99% interval",
      value: interval ? `${signed(interval[0])} to ${signed(interval[1])}` : MISSING,
      note: significanceOf(significant),
    },
    { label: "Between starts", value: ms(starts.spread_ms), note: "standard deviation" },
  ];
}

function significanceOf(significant: boolean | null): string {
  if (significant === null) return "one start on a side does not show noise";
  return significant ? "more than noise" : "no certain change";
}
