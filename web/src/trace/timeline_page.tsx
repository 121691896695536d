/** The timeline: overview, ruler, tracks, and below them details of the selection. */

import "./trace.css";

import { effect } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { TimelineScope } from "../api/timeline.ts";
import type { Span, TimelineMeta } from "../base/timeline.ts";
import { type Selection, subParams, withSubParams } from "../engine/address.ts";
import { linkFrom, linkTexts } from "../engine/timeline/address.ts";
import { selectedSection, selectedSpan } from "../engine/timeline/links.ts";
import { framed } from "../engine/timeline/viewport.ts";
import { Help } from "./controls/help.tsx";
import { Keys } from "./controls/keys.ts";
import { Status } from "./controls/status.tsx";
import { Toolbar } from "./controls/toolbar.tsx";
import type { Size } from "./model/state.ts";
import { Panels } from "./panels/panels.tsx";
import { SecondTimeline } from "./second_timeline.tsx";
import { Minimap } from "./stage/minimap.tsx";
import { QueryLane } from "./stage/query_lane.tsx";
import { Ruler } from "./stage/ruler.tsx";
import { Stage } from "./stage/stage.tsx";
import { Timeline } from "./stage/timeline.ts";

type Params = Readonly<Record<string, string>>;

export interface TimelinePageProps {
  readonly title: string;
  readonly meta: TimelineMeta;
  readonly run: string;
  /** Ids of all runs there are. */
  readonly runs: readonly string[];
  readonly host: string;
  readonly params: Params;
  readonly onParams: (params: Params) => void;
  /** The part of the recording that all pages are about; the timeline marks it. */
  readonly selection: Selection;
  readonly onSelectRange: (span: Span) => void;
  /** All that the recording says of what an event is called. */
  readonly about: (name: string) => ComponentChildren;
  /** Loads the recording again after it was replaced. */
  readonly onStale: () => void;
  /** Told once, when the first picture is whole. */
  readonly onShown: () => void;
}

const PREFIX = "tl";
// What is beside and above the tracks of a wide window.
const BESIDE_PX = 220;
const ABOVE_PX = 126;
// Browsers allow some hundred changes of the address in half a minute.
const ADDRESS_MS = 300;

export function TimelinePage(props: TimelinePageProps) {
  const { meta, run, host, params, title, onStale, onShown } = props;
  const timeline = useMemo(() => {
    const scope: TimelineScope = { run, host, v: meta.fingerprint };
    const asked = linkFrom(subParams(params, PREFIX), meta);
    const range = selectedSpan(props.selection, meta);
    const isOpen = asked.view || asked.range || asked.event !== null || !range;
    const at = asked.at ?? (asked.scroll > 0 ? null : selectedSection(props.selection, meta));
    const link = { ...asked, at, ...(isOpen ? {} : { range, view: framed(range, range) }) };
    const made = new Timeline(meta, scope, link, onShown);
    made.expect(likelySize());
    return made;
  }, [meta, run, host]);
  const second = timeline.state.second.value;
  const [help, setHelp] = useState(false);
  // Before the browser paints the frame around it: tiles are on their way meanwhile.
  useLayoutEffect(() => timeline.start(), [timeline]);
  useAddress(timeline, props);
  useSelection(timeline, props.selection);
  useEffect(() => {
    const focus = (id: string) => () => {
      const field = document.getElementById(id);
      field?.focus();
      if (field instanceof HTMLInputElement) field.select();
    };
    const actions = {
      help: () => setHelp(true),
      search: focus("tl-search"),
      goToStep: focus("tl-step"),
    };
    return new Keys(timeline.state, actions).listen();
  }, [timeline]);
  return (
    <div class="timeline">
      <Toolbar timeline={timeline} title={title} runs={props.runs} onHelp={() => setHelp(true)} />
      <Status timeline={timeline} onStale={onStale} />
      <Minimap timeline={timeline} />
      <Ruler timeline={timeline} />
      {params.query && (
        <QueryLane
          timeline={timeline}
          query={params.query}
          onClose={() => props.onParams({ ...params, query: "" })}
        />
      )}
      <Stage timeline={timeline} />
      {second && <SecondTimeline first={timeline} second={second} />}
      <Panels
        timeline={timeline}
        runs={props.runs}
        onSelectRange={props.onSelectRange}
        about={props.about}
      />
      <p id="tl-how" class="off-screen">
        Events of the trace over time. Search to select one; then the arrow keys move to its
        neighbours, its parent and its children. Press the question mark for all shortcuts.
      </p>
      <p class="off-screen" aria-live="polite">
        {timeline.state.said.value}
      </p>
      {help && <Help onClose={() => setHelp(false)} />}
    </div>
  );
}

/** Marks another selection and scrolls to its device; takes the mark off with the selection. */
function useSelection(timeline: Timeline, selection: Selection): void {
  const text = JSON.stringify(selection);
  const last = useRef(text);
  useEffect(() => {
    if (text === last.current) return;
    last.current = text;
    const now = JSON.parse(text) as Selection;
    const span = selectedSpan(now, timeline.state.meta);
    timeline.state.chooseRange(span && { span, tracks: null });
    timeline.state.scrollToSection(selectedSection(now, timeline.state.meta));
  }, [text, timeline]);
}

/** How large the stage will be about: close enough to ask for its tiles before it is built. */
function likelySize(): Size {
  const main = document.getElementById("main");
  const { clientWidth = 0, clientHeight = 0 } = main ?? {};
  return { width: clientWidth - BESIDE_PX, height: clientHeight - ABOVE_PX };
}

/** Keeps the address and the state equal, whichever changes. */
function useAddress(timeline: Timeline, { meta, params, onParams }: TimelinePageProps): void {
  const latest = useRef({ params, onParams });
  latest.current = { params, onParams };
  const written = useRef(JSON.stringify(subParams(params, PREFIX)));
  useEffect(() => {
    let timer = 0;
    const stop = effect(() => {
      const texts = linkTexts(timeline.state.link());
      window.clearTimeout(timer);
      timer = window.setTimeout(() => {
        const text = JSON.stringify(texts);
        if (text === written.current) return;
        written.current = text;
        latest.current.onParams(withSubParams(latest.current.params, PREFIX, texts));
      }, ADDRESS_MS);
    });
    return () => {
      window.clearTimeout(timer);
      stop();
    };
  }, [timeline]);
  const now = subParams(params, PREFIX);
  const text = JSON.stringify(now);
  useEffect(() => {
    if (text === written.current) return;
    written.current = text;
    timeline.state.follow(linkFrom(now, meta));
  }, [text, timeline]);
}
