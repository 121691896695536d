/** The other events of the same name: how many, how long, and the way to them. */

import { count, duration, plural } from "../../base/format.ts";
import type { Occurrences as Answer } from "../../base/timeline.ts";
import { Facts } from "../../widgets/facts.tsx";
import type { TimelineState } from "../model/state.ts";

const CHART_PX = 40;
const BAR_PX = 8;

interface OccurrencesProps {
  readonly state: TimelineState;
  readonly occurrences: Answer;
  readonly name: string;
}

export function Occurrences({ state, occurrences, name }: OccurrencesProps) {
  if (occurrences.count < 2) return <p class="quiet">The only event with this name.</p>;
  const [least, , median, , p95, , most] = occurrences.quantiles_ps.map((ps) => duration(ps, "ps"));
  const go = (id: number, label: string) => (
    <button type="button" class="button" disabled={id < 0} onClick={() => void state.goToEvent(id)}>
      {label}
    </button>
  );
  return (
    <section>
      <h3>{plural(occurrences.count, "event")} with this name</h3>
      <Facts
        facts={[
          { label: "Total", value: duration(occurrences.total_ps, "ps") },
          { label: "Shortest to longest", value: `${least} to ${most}` },
          { label: "Median", value: median },
          { label: "95th percentile", value: p95 },
          { label: "Longer than this", value: count(occurrences.longer) },
        ]}
      />
      <Histogram occurrences={occurrences} />
      <p class="tl-actions">
        {go(occurrences.previous, "Previous")}
        {go(occurrences.next, "Next")}
        {go(occurrences.longest, "Longest")}
        <button
          type="button"
          class="button"
          onClick={() => {
            state.sought.value = { text: name, regex: false, stat: "" };
            state.panel.value = "search";
          }}
        >
          Find all
        </button>
      </p>
    </section>
  );
}

/** How long they are, as bars; the numbers stand beside them. */
function Histogram({ occurrences }: { occurrences: Answer }) {
  const { bin_count: bins, bin_edge_ps: edges } = occurrences;
  if (bins.length < 2) return null;
  const most = Math.max(...bins);
  const first = duration(edges[0] ?? 0, "ps");
  const last = duration(edges[edges.length - 1] ?? 0, "ps");
  return (
    <svg
      width={bins.length * BAR_PX}
      height={CHART_PX}
      role="img"
      aria-label={`Distribution of durations from ${first} to ${last}`}
    >
      {bins.map((bin, place) => {
        const height = bin === 0 ? 0 : Math.max(1, (bin / most) * CHART_PX);
        return (
          <rect
            key={place}
            class="tl-bar"
            x={place * BAR_PX}
            y={CHART_PX - height}
            width={BAR_PX - 1}
            height={height}
          >
            <title>
              {count(bin)}: {duration(edges[place] ?? 0, "ps")} to{" "}
              {duration(edges[place + 1] ?? 0, "ps")}
            </title>
          </rect>
        );
      })}
    </svg>
  );
}
