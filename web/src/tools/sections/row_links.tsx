/** Where a row of a table leads: its events in the timeline, its instruction in the graph. */

import { useEffect, useState } from "preact/hooks";
import { getTimelineOccurrences } from "../../api/timeline.ts";
import { count, duration } from "../../base/format.ts";
import type { Occurrences, Place } from "../../base/timeline.ts";
import { type Part, partText } from "../../engine/address.ts";
import { exactPattern } from "../../engine/exact_pattern.ts";
import type { RowPlace } from "../../engine/row_places.ts";
import { eventParams, spanParams } from "../../engine/timeline/links.ts";
import { Histogram } from "../../widgets/charts/histogram.tsx";
import { copyToClipboard } from "../../widgets/clipboard.ts";
import type { PageFor, Params } from "./page_link.ts";

interface RowLinksProps {
  readonly place: RowPlace;
  readonly pageFor: PageFor;
  readonly query: Params;
  /** Without it nothing can be selected here. */
  readonly onSelect?: (part: Part, value: string) => void;
}

export function RowLinks({ place, pageFor, query, onSelect }: RowLinksProps) {
  const found = useEvents(place.event, pageFor("trace_viewer") !== null, query);
  const here = place.spanMs && pageFor("trace_viewer", spanParams(place.spanMs, place.where));
  const events =
    found && found.count > 0
      ? pageFor("trace_viewer", eventParams(place.event, found.first))
      : null;
  const graph = place.instruction && pageFor("graph_viewer", { node: place.instruction });
  return (
    <div class="row-links">
      <p class="actions">
        {here && (
          <a class="button" href={here.href}>
            Show in timeline
          </a>
        )}
        {events && found && (
          <a class="button" href={events.href}>
            Show in timeline ({count(found.count)}× in the recording)
          </a>
        )}
        {graph && (
          <a class="button" href={graph.href}>
            Open in graph
          </a>
        )}
        {onSelect &&
          place.parts
            .filter(([part, value]) => query[part] !== value)
            .map(([part, value]) => (
              <button key={part} type="button" class="button" onClick={() => onSelect(part, value)}>
                Select {partText(part, value)}
              </button>
            ))}
        {place.name && <CopyButton text={place.name} />}
      </p>
      {found?.occurrences && <Durations occurrences={found.occurrences} />}
    </div>
  );
}

interface Events {
  readonly count: number;
  readonly first: Place;
  readonly occurrences: Occurrences;
}

/** Events of a name in the timeline; null until they are known, and where there are none. */
function useEvents(name: string, hasTimeline: boolean, query: Params): Events | null {
  const { run = "", host = "" } = query;
  const [found, setFound] = useState<{ name: string; events: Events | null }>();
  useEffect(() => {
    if (!name || !hasTimeline) return;
    const control = new AbortController();
    getTimelineOccurrences({ run, host, v: "" }, exactPattern(name), control.signal)
      .then((events) => setFound({ name, events }))
      // Without an answer the drawer still has the row's own values.
      .catch(() => setFound({ name, events: null }));
    return () => control.abort();
  }, [name, hasTimeline, run, host]);
  return found?.name === name ? found.events : null;
}

function Durations({ occurrences }: { occurrences: Occurrences }) {
  const { bin_count: bins, bin_edge_ps: edges, quantiles_ps: quantiles } = occurrences;
  const time = (ps: number | undefined) => duration(ps ?? Number.NaN, "ps");
  const [least, , median, , p95, , most] = quantiles;
  return (
    <figure class="row-durations">
      <figcaption class="quiet">
        Durations: {time(least)} to {time(most)}, median {time(median)}, 95th percentile {time(p95)}
      </figcaption>
      <Histogram
        label={`Distribution of durations from ${time(least)} to ${time(most)}`}
        counts={bins}
        tip={(bar) => `${count(bins[bar] ?? 0)}: ${time(edges[bar])} to ${time(edges[bar + 1])}`}
      />
    </figure>
  );
}

function CopyButton({ text }: { text: string }) {
  const [copied, setCopied] = useState("");
  return (
    <button
      type="button"
      class="button"
      onClick={() => void copyToClipboard(text).then((done) => done && setCopied(text))}
    >
      {copied === text ? "Copied" : "Copy name"}
    </button>
  );
}
