/** The other events of the same name: how many, how long, and the way to them. */

import { count, duration, plural } from "../../base/format.ts";
import type { Occurrences as Answer } from "../../base/timeline.ts";
import { Histogram } from "../../widgets/charts/histogram.tsx";
import { Facts } from "../../widgets/facts.tsx";
import type { TimelineState } from "../model/state.ts";

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
      <Durations occurrences={occurrences} />
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

/** How long they are, as bars; the numbers are beside them. */
function Durations({ occurrences }: { occurrences: Answer }) {
  const { bin_count: bins, bin_edge_ps: edges } = occurrences;
  const edge = (place: number) => duration(edges[place] ?? 0, "ps");
  return (
    <Histogram
      label={`Distribution of durations from ${edge(0)} to ${edge(edges.length - 1)}`}
      counts={bins}
      tip={(bar) => `${count(bins[bar] ?? 0)}: ${edge(bar)} to ${edge(bar + 1)}`}
    />
  );
}
