/** Statistics of a stretch of time: top events, busy and idle tracks, delays of launches. */

import { useState } from "preact/hooks";
import { bytes, count, duration, percent, plural, significant } from "../../base/format.ts";
import { shortName } from "../../base/short_name.ts";
import { shortened, visible } from "../../base/text.ts";
import type { RangeAnswer, RangeCounter, RangeName, Span, Spread } from "../../base/timeline.ts";
import { namesAsText } from "../../engine/timeline/range_text.ts";
import { axisTime, wallTime } from "../../engine/timeline/time_axis.ts";
import { copyToClipboard } from "../../widgets/clipboard.ts";
import type { TimelineState } from "../model/state.ts";
import type { Timeline } from "../stage/timeline.ts";
import { FlamePanel } from "./flame_panel.tsx";
import { PathPanel } from "./path_panel.tsx";

const LONGEST_NAME = 100;

interface RangePanelProps {
  readonly timeline: Timeline;
  readonly runs: readonly string[];
  readonly onSelectRange: (span: Span) => void;
}

const FIRST_FLAME = { by: "stack", inverted: false, base: null, baseRun: "" } as const;

export function RangePanel({ timeline, runs, onSelectRange }: RangePanelProps) {
  const { state } = timeline;
  const { value, waiting, problem } = state.statistics.value;
  const range = state.range.value;
  if (!range) return null;
  if (problem) {
    return (
      <p role="alert">
        {problem}{" "}
        <button type="button" class="button" onClick={() => void state.loadStatistics()}>
          Try again
        </button>
      </p>
    );
  }
  const tracks = range.tracks === null ? "all tracks" : plural(range.tracks.length, "track");
  return (
    <div class={waiting ? "stale" : ""} aria-busy={waiting}>
      <header class="tl-range-head">
        <h2>{duration(range.span.end - range.span.begin, "ps")}</h2>
        <span class="quiet" title={wallTime(state.meta.origin_ns, range.span.begin)}>
          from {axisTime(range.span.begin)}, {tracks}
          {value && `, ${plural(value.events, "event")} of ${plural(value.distinct_names, "name")}`}
        </span>
        <button
          type="button"
          class="button"
          title="All pages then show the numbers of this range"
          onClick={() => onSelectRange(range.span)}
        >
          Select this range
        </button>
        <button type="button" class="button" onClick={() => state.zoomTo(range.span)}>
          Zoom to range
        </button>
        <button
          type="button"
          class="button"
          aria-pressed={state.flame.view.value !== null}
          onClick={() => {
            state.flame.view.value = state.flame.view.value ? null : FIRST_FLAME;
            state.path.on.value = false;
          }}
        >
          Flame
        </button>
        <button
          type="button"
          class="button"
          aria-pressed={state.path.on.value}
          title="What the end of the range waited for, back through host and device"
          onClick={() => {
            state.path.on.value = !state.path.on.value;
            state.flame.view.value = null;
          }}
        >
          Critical path
        </button>
        {range.tracks !== null && (
          <button
            type="button"
            class="button"
            onClick={() => state.chooseRange({ span: range.span, tracks: null })}
          >
            All tracks
          </button>
        )}
        {value && <CopyNames key={`${value.begin_ps} ${value.end_ps}`} names={value.names} />}
      </header>
      {state.flame.view.value && <FlamePanel state={state} runs={runs} />}
      {state.path.on.value && !state.flame.view.value && <PathPanel state={state} />}
      {value && !state.flame.view.value && !state.path.on.value && (
        <div class="tl-columns wide">
          <Names state={state} answer={value} />
          <div>
            <Tracks state={state} answer={value} />
            <Counters state={state} answer={value} />
            <Launches answer={value} />
          </div>
        </div>
      )}
    </div>
  );
}

/** The list by name for spreadsheets. */
function CopyNames({ names }: { names: readonly RangeName[] }) {
  const [copied, setCopied] = useState(false);
  if (names.length === 0) return null;
  return (
    <button
      type="button"
      class="button"
      title="The list by name as tab-separated text, times in µs"
      onClick={() => void copyToClipboard(namesAsText(names)).then(setCopied)}
    >
      {copied ? "Copied" : "Copy list"}
    </button>
  );
}

const ORDERS = ["self_ps", "total_ps", "count", "mean_ps", "longest_ps"] as const;
type Order = (typeof ORDERS)[number];
const TITLES: Readonly<Record<Order, string>> = {
  self_ps: "Self time",
  total_ps: "Total time",
  count: "Count",
  mean_ps: "Mean",
  longest_ps: "Longest",
};

function Names({ state, answer }: { state: TimelineState; answer: RangeAnswer }) {
  const [order, setOrder] = useState<Order>("self_ps");
  const rows = [...answer.names].sort((a, b) => b[order] - a[order]);
  const show = (row: RangeName, column: Order) =>
    column === "count" ? count(row.count) : duration(row[column], "ps");
  return (
    <table class="tl-table">
      <caption class="off-screen">Events of the range by name</caption>
      <thead>
        <tr>
          <th scope="col">Name</th>
          {ORDERS.map((column) => (
            <th
              key={column}
              scope="col"
              class="number"
              aria-sort={order === column ? "descending" : "none"}
            >
              <button type="button" class="tl-link" onClick={() => setOrder(column)}>
                {TITLES[column]}
                {order === column ? " ↓" : ""}
              </button>
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.name_id}>
            <th scope="row">
              <button
                type="button"
                class="tl-link"
                title={`${visible(row.name)}: to the longest`}
                onClick={() => void state.goToEvent(row.longest)}
              >
                {shortened(shortName(visible(row.name)) || "(no name)", LONGEST_NAME)}
              </button>
            </th>
            {ORDERS.map((column) => (
              <td key={column} class="number">
                {show(row, column)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Tracks({ state, answer }: { state: TimelineState; answer: RangeAnswer }) {
  const shown = answer.tracks.filter((each) => each.events > 0);
  if (shown.length === 0) return <p class="quiet">No events in this range.</p>;
  return (
    <table class="tl-table">
      <caption class="off-screen">Tracks of the range</caption>
      <thead>
        <tr>
          <th scope="col">Track</th>
          <th scope="col" class="number">
            Events
          </th>
          <th scope="col" class="number">
            Busy
          </th>
          <th scope="col" class="number">
            Idle
          </th>
        </tr>
      </thead>
      <tbody>
        {shown.map((each) => (
          <tr key={each.track}>
            <th scope="row">
              <button type="button" class="tl-link" onClick={() => state.showTrack(each.track, 0)}>
                {visible(state.meta.tracks[each.track]?.name ?? "")}
              </button>
            </th>
            <td class="number">{count(each.events)}</td>
            <td class="number">{percent(each.busy_frac)}</td>
            <td class="number">{percent(each.idle_frac)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function NumbersHead({ of, titles }: { of: string; titles: readonly string[] }) {
  return (
    <thead>
      <tr>
        <th scope="col">{of}</th>
        {titles.map((title) => (
          <th key={title} scope="col" class="number">
            {title}
          </th>
        ))}
      </tr>
    </thead>
  );
}

function Counters({ state, answer }: { state: TimelineState; answer: RangeAnswer }) {
  if (answer.counters.length === 0) return null;
  return (
    <table class="tl-table">
      <caption class="off-screen">Counters of the range</caption>
      <NumbersHead of="Counter" titles={["Begin", "Change", "Least", "Mean", "Most"]} />
      <tbody>
        {answer.counters.map((each) => (
          <CounterRow key={each.track} state={state} counter={each} />
        ))}
      </tbody>
    </table>
  );
}

function CounterRow({ state, counter }: { state: TimelineState; counter: RangeCounter }) {
  const { first, change, least, mean, most } = counter;
  const text = (value: number) =>
    counter.unit === "bytes"
      ? bytes(Math.round(value))
      : `${significant(value)} ${counter.unit}`.trim();
  const sign = change > 0 ? "+" : "";
  return (
    <tr>
      <th scope="row" class="counter">
        <button type="button" class="tl-link" onClick={() => state.showTrack(counter.track, 0)}>
          {visible(state.meta.tracks[counter.track]?.name ?? "")}
        </button>
      </th>
      <td class="number">{text(first)}</td>
      <td class="number">{change === 0 ? "none" : `${sign}${text(change)}`}</td>
      <td class="number">{text(least)}</td>
      <td class="number">{text(mean)}</td>
      <td class="number">
        <button
          type="button"
          class="tl-link"
          title={`First at ${axisTime(counter.most_at_ps)}: go there`}
          onClick={() => state.showTime(counter.track, counter.most_at_ps)}
        >
          {text(most)}
        </button>
      </td>
    </tr>
  );
}

function Launches({ answer }: { answer: RangeAnswer }) {
  if (answer.launches === 0) return null;
  const rows = [
    ["Launch to kernel", answer.launch_delay_ps],
    ["Launch end to kernel", answer.launch_gap_ps],
  ] as const;
  return (
    <table class="tl-table">
      <caption>{plural(answer.launches, "launch", "launches")}</caption>
      <NumbersHead
        of="Delay"
        titles={["Mean", "Shortest", "Median", "95th percentile", "Longest"]}
      />
      <tbody>
        {rows.map(
          ([title, spread]) => spread && <SpreadRow key={title} title={title} {...spread} />,
        )}
      </tbody>
    </table>
  );
}

function SpreadRow({ title, mean, least, median, p95, most }: Spread & { title: string }) {
  return (
    <tr>
      <th scope="row">{title}</th>
      {[mean, least, median, p95, most].map((ps, place) => (
        <td key={place} class="number">
          {duration(ps, "ps")}
        </td>
      ))}
    </tr>
  );
}
