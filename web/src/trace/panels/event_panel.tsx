/** All about the selected event. */

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { count, duration, plural } from "../../base/format.ts";
import { shortName } from "../../base/short_name.ts";
import { visible } from "../../base/text.ts";
import type { EventDetails, LinkedPlace } from "../../base/timeline.ts";
import { axisTime, wallTime } from "../../engine/timeline/time_axis.ts";
import { type Fact, Facts } from "../../widgets/facts.tsx";
import type { TimelineState } from "../model/state.ts";
import type { Timeline } from "../stage/timeline.ts";
import { Occurrences } from "./occurrences.tsx";
import { PlaceButton } from "./place_button.tsx";

const CHILDREN_AT_FIRST = 12;
const LONGEST_VALUE = 2000;

interface EventPanelProps {
  readonly timeline: Timeline;
  /** All that the recording says of what an event is called. */
  readonly about: (name: string) => ComponentChildren;
}

export function EventPanel({ timeline, about }: EventPanelProps) {
  const { state } = timeline;
  const { value, waiting, problem } = state.details.value;
  useEffect(() => {
    if (value) state.said.value = spoken(state, value);
  }, [value, state]);
  if (problem) {
    return (
      <p role="alert">
        {problem}{" "}
        <button type="button" class="button" onClick={() => void state.loadEvent()}>
          Try again
        </button>
      </p>
    );
  }
  if (!value) return <p class="quiet">{waiting ? "Loading the event …" : ""}</p>;
  return (
    <div class={`tl-event ${waiting ? "stale" : ""}`} aria-busy={waiting}>
      <header>
        <Title
          name={visible(value.full_name).slice(0, LONGEST_VALUE)}
          short={shortName(visible(value.name))}
        />
        <button type="button" class="button" onClick={() => state.zoomTo(spanOf(value))}>
          Zoom to event
        </button>
      </header>
      <div class="tl-columns">
        <Basics state={state} details={value} />
        <Stats details={value} />
        <Occurrences state={state} occurrences={value.occurrences} name={value.full_name} />
        <About key={value.full_name} name={value.full_name} about={about} />
      </div>
    </div>
  );
}

/** Asked for when opened: one moves through many events. */
function About({ name, about }: { name: string; about: EventPanelProps["about"] }) {
  const [open, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Where from, could be, memory, other run</summary>
      {open && about(name)}
    </details>
  );
}

/** The name as people call it; all of it on demand. */
function Title({ name, short }: { name: string; short: string }) {
  if (short === name) return <h2>{name || "(no name)"}</h2>;
  return (
    <div class="tl-title">
      <h2>{short}</h2>
      <details>
        <summary>Full name</summary>
        <p class="long">{name}</p>
      </details>
    </div>
  );
}

function spanOf(details: EventDetails) {
  return { begin: details.begin_ps, end: details.end_ps };
}

/** The event in a sentence. */
function spoken(state: TimelineState, details: EventDetails): string {
  const track = state.meta.tracks[details.track];
  const section = state.meta.sections[track?.section ?? -1];
  return [
    visible(details.name) || "No name",
    duration(details.end_ps - details.begin_ps, "ps"),
    `at ${axisTime(details.begin_ps)}`,
    `depth ${details.lane + 1}`,
    visible(track?.name ?? ""),
    visible(section?.name ?? ""),
  ].join(", ");
}

function Basics({ state, details }: { state: TimelineState; details: EventDetails }) {
  const track = state.meta.tracks[details.track];
  const section = state.meta.sections[track?.section ?? -1];
  const facts: Fact[] = [
    { label: "Duration", value: duration(details.end_ps - details.begin_ps, "ps") },
    { label: "Self time", value: duration(details.self_ps, "ps") },
    {
      label: "Start",
      value: axisTime(details.begin_ps),
      note: wallTime(state.meta.origin_ns, details.begin_ps),
    },
    ...slackOf(state),
    { label: "Category", value: state.meta.categories[details.category] ?? "other" },
    { label: "Track", value: visible(track?.name ?? ""), note: visible(section?.name ?? "") },
  ];
  return (
    <section>
      <Facts facts={facts} />
      {details.parent && (
        <p>
          Within <PlaceButton state={state} place={details.parent} />
        </p>
      )}
      <Links state={state} title="From" links={details.into} from={details} />
      <Links state={state} title="To" links={details.out_of} from={details} />
      <Children state={state} details={details} />
    </section>
  );
}

/** How late it could end, where the critical path of a range is shown. */
function slackOf(state: TimelineState): Fact[] {
  const { value, waiting } = state.path.answer.value;
  if (!value || waiting || value.slack_ps === null) return [];
  const note = value.slack_ps === 0 ? "on the critical path" : "later, and the range ends no later";
  return [{ label: "Slack", value: duration(value.slack_ps, "ps"), note }];
}

interface LinksProps {
  readonly state: TimelineState;
  readonly title: string;
  readonly links: readonly LinkedPlace[];
  readonly from: EventDetails;
}

function Links({ state, title, links, from }: LinksProps) {
  if (links.length === 0) return null;
  return (
    <>
      {links.slice(0, CHILDREN_AT_FIRST).map((link) => (
        <p key={link.event}>
          {title} ({link.kind}) <PlaceButton state={state} place={link} />
          <span class="quiet">, {delay(from, link)}</span>
        </p>
      ))}
      {links.length > CHILDREN_AT_FIRST && (
        <p class="quiet">and {count(links.length - CHILDREN_AT_FIRST)} more</p>
      )}
    </>
  );
}

/** How far the begins of two events are apart. */
function delay(from: EventDetails, link: LinkedPlace): string {
  const apart = link.begin_ps - from.begin_ps;
  return `starts ${duration(Math.abs(apart), "ps")} ${apart < 0 ? "before this event" : "after it"}`;
}

function Children({ state, details }: { state: TimelineState; details: EventDetails }) {
  const { children } = details;
  if (children.count === 0) return null;
  const shown = children.first.slice(0, CHILDREN_AT_FIRST);
  return (
    <>
      <h3>{plural(children.count, "nested event")}</h3>
      <ul>
        {shown.map((child) => (
          <li key={child.event}>
            <PlaceButton state={state} place={child} />
          </li>
        ))}
      </ul>
      {children.count > shown.length && (
        <p class="quiet">and {count(children.count - shown.length)} more</p>
      )}
    </>
  );
}

function Stats({ details }: { details: EventDetails }) {
  if (details.stats.length === 0)
    return <p class="quiet">No stats were recorded with this event.</p>;
  return (
    <table class="tl-table">
      <caption class="off-screen">Stats of the event</caption>
      <tbody>
        {details.stats.map(({ name, value }, place) => (
          <tr key={place}>
            <th scope="row">{visible(name)}</th>
            <td class="long">{visible(String(value)).slice(0, LONGEST_VALUE)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
