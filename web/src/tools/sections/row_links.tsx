/** Details of whatever a row or an event is about: the same questions, answered by the server. */

import { useEffect, useState } from "preact/hooks";
import { getAbout, reportNotes } from "../../api/client.ts";
import type { AboutInfo, AboutLinkInfo, AnswerInfo, ToolInfo } from "../../api/types.gen.ts";
import { count, duration } from "../../base/format.ts";
import { type Part, partText } from "../../engine/address.ts";
import { evidenceParams } from "../../engine/advice/evidence.ts";
import type { RowPlace } from "../../engine/row_places.ts";
import { eventIdParams, spanParams } from "../../engine/timeline/links.ts";
import { Histogram } from "../../widgets/charts/histogram.tsx";
import { copyToClipboard } from "../../widgets/clipboard.ts";
import type { PageFor, Params } from "./page_link.ts";

interface ThingProps {
  readonly pageFor: PageFor;
  readonly query: Params;
  /** Without it nothing can be selected here. */
  readonly onSelect?: (part: Part, value: string) => void;
}

interface RowLinksProps extends ThingProps {
  readonly place: RowPlace;
}

export function RowLinks({ place, ...thing }: RowLinksProps) {
  const { pageFor, query, onSelect } = thing;
  const here = place.spanMs && pageFor("trace_viewer", spanParams(place.spanMs, place.where));
  const graph = place.instruction && pageFor("graph_viewer", { node: place.instruction });
  return (
    <div class="row-links">
      <p class="actions">
        {here && (
          <a class="button" href={here.href}>
            Show in timeline
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
      {(place.thing || place.step) && <Thing {...thing} {...place} name={place.thing} />}
    </div>
  );
}

interface NamedProps extends ThingProps {
  readonly name: string;
  readonly file?: string;
  readonly line?: string;
  readonly step?: string;
}

/** The answers about a thing; nothing in a report, which has no server to ask. */
export function Thing(props: NamedProps) {
  const { found, other, failed } = useAbout(props);
  if (reportNotes) return null;
  if (failed) return <p class="quiet">The server has no answers about it.</p>;
  if (!found) return <p class="quiet" aria-busy="true" />;
  return (
    <div class="thing">
      <dl class="thing-answers">
        {[...(found.answers ?? []), ...other].map((answer) => (
          <Answer key={answer.question} {...props} answer={answer} />
        ))}
      </dl>
      <StepTimes found={found} />
      <Durations found={found} />
      <Source found={found} />
    </div>
  );
}

type Found = Partial<AboutInfo>;
const NO_ANSWER: readonly AnswerInfo[] = [];

/** First what the open recording answers, then the comparison, which may open another one. */
function useAbout({ name, file = "", line = "", step = "", query }: NamedProps) {
  const [state, setState] = useState<{ key: string; found?: Found; other?: Found }>({ key: "" });
  const { run = "", host = "", steps = "", range = "", device = "" } = query;
  const asked = { run, host, steps, range, device, name, file, line, step };
  const key = JSON.stringify(asked);
  useEffect(() => {
    if (reportNotes) return;
    const control = new AbortController();
    const put = (part: object) =>
      control.signal.aborted ||
      setState((now) => ({ ...(now.key === key ? now : {}), ...part, key }));
    getAbout(asked, control.signal)
      .then((found) => put({ found }))
      // Without an answer the drawer still has the row's own values.
      .catch(() => put({ found: {} }))
      .then(() => (step ? {} : getAbout({ ...asked, compared: "1" }, control.signal)))
      .then((other) => put({ other }))
      .catch(() => undefined);
    return () => control.abort();
  }, [key]);
  const own = state.key === key ? state : null;
  const failed = own?.found !== undefined && !own.found.answers;
  return { found: own?.found, other: own?.other?.answers ?? NO_ANSWER, failed };
}

function Answer({ answer, ...props }: NamedProps & { readonly answer: AnswerInfo }) {
  return (
    <div>
      <dt>{answer.question}</dt>
      <dd>
        {answer.text}{" "}
        {answer.links.map((link) => (
          <AnswerLink key={link.label} {...props} link={link} />
        ))}
      </dd>
    </div>
  );
}

function AnswerLink(props: NamedProps & { readonly link: AboutLinkInfo }) {
  const { link, pageFor, onSelect } = props;
  if (!link.tool) {
    return onSelect ? (
      <button
        type="button"
        class="link"
        title={`Select ${partText(link.part as Part, link.value)}`}
        onClick={() => onSelect(link.part as Part, link.value)}
      >
        {link.label}
      </button>
    ) : null;
  }
  const page = pageFor(link.tool, paramsOf(link, pageFor(link.tool)?.tables ?? {}));
  return (
    page && (
      <a class="link" href={page.href}>
        {link.label}
      </a>
    )
  );
}

function paramsOf(link: AboutLinkInfo, tables: ToolInfo["tables"]) {
  const { event, from_ms: from, to_ms: to } = link;
  if (event === null) {
    return evidenceParams(
      { ...link, opens: link.rows.length === 1 && !link.what.includes("=") },
      tables,
    );
  }
  const [begin, end] = [from ?? Number.NaN, to ?? Number.NaN];
  return eventIdParams(event, begin * 1e3, (end - begin) * 1e3, link.rows[0]);
}

/** Its time in each step, so that slow steps stand out. */
function StepTimes({ found }: { found: Found }) {
  const { step_num: steps = [], step_ms: times = [] } = found;
  return (
    <Bars
      said={`Time in steps ${steps[0]} to ${steps.at(-1)}`}
      counts={times.map((time) => time ?? 0)}
      tip={(bar) => `Step ${steps[bar]}: ${duration(times[bar] ?? Number.NaN, "ms")}`}
    />
  );
}

function Durations({ found }: { found: Found }) {
  const { bin_count: bins = [], bin_edge_ms: edges = [] } = found;
  const time = (at: number) => duration(edges.at(at) ?? Number.NaN, "ms");
  return (
    <Bars
      said={`Durations: ${time(0)} to ${time(-1)}`}
      counts={bins}
      tip={(bar) => `${count(bins[bar] ?? 0)}: ${time(bar)} to ${time(bar + 1)}`}
    />
  );
}

interface BarsProps {
  readonly said: string;
  readonly counts: readonly number[];
  readonly tip: (bar: number) => string;
}

function Bars({ said, counts, tip }: BarsProps) {
  if (counts.length < 2) return null;
  return (
    <figure class="row-durations">
      <figcaption class="quiet">{said}</figcaption>
      <Histogram label={said} counts={counts} tip={tip} />
    </figure>
  );
}

function Source({ found }: { found: Found }) {
  const { lines = [], line, changed } = found;
  return (
    <>
      {changed && <p class="quiet">{changed}</p>}
      {lines.length > 0 && (
        <pre class="thing-source">
          {lines.map(([number, text]) => (
            <code key={number} class={number === line ? "at" : ""}>
              {`${String(number).padStart(5)}  ${text}\n`}
            </code>
          ))}
        </pre>
      )}
    </>
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
