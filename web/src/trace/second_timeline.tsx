/** Another run below the first timeline, under the same cursor. */

import { useEffect, useState } from "preact/hooks";
import { getTimelineMeta } from "../api/timeline.ts";
import { visible } from "../base/text.ts";
import type { TimelineMeta } from "../base/timeline.ts";
import type { SecondRun } from "../engine/timeline/address.ts";
import { linkFrom } from "../engine/timeline/address.ts";
import { aligned } from "../engine/timeline/alignment.ts";
import { pair } from "./model/pair.ts";
import { troubleOf } from "./model/tile_loader.ts";
import { Ruler } from "./stage/ruler.tsx";
import { Stage } from "./stage/stage.tsx";
import { Timeline } from "./stage/timeline.ts";

interface SecondTimelineProps {
  readonly first: Timeline;
  readonly second: SecondRun;
}

export function SecondTimeline({ first, second }: SecondTimelineProps) {
  const { run, step } = second;
  const [loaded, setLoaded] = useState<{ run: string; meta: TimelineMeta } | null>(null);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    const control = new AbortController();
    setProblem("");
    getTimelineMeta(run, "", control.signal)
      .then((meta) => setLoaded({ run, meta }))
      .catch((error) => !control.signal.aborted && setProblem(troubleOf(error).what));
    return () => control.abort();
  }, [run]);
  if (problem) return <p role="alert">{problem}</p>;
  if (loaded?.run !== run) return <p class="quiet tl-second-head">Loading {visible(run)} …</p>;
  return <Loaded key={run} first={first} run={run} meta={loaded.meta} step={step} />;
}

interface LoadedProps {
  readonly first: Timeline;
  readonly run: string;
  readonly meta: TimelineMeta;
  readonly step: number | null;
}

function Loaded({ first, run, meta, step }: LoadedProps) {
  const [timeline] = useState(
    () =>
      new Timeline(
        meta,
        { run, host: "", v: meta.fingerprint },
        linkFrom({}, meta),
        () => undefined,
      ),
  );
  useEffect(() => timeline.start(), [timeline]);
  const found = aligned(first.meta, meta, step, first.state.view.peek());
  const [kept, setKept] = useState(found);
  useEffect(() => setKept(aligned(first.meta, meta, step, first.state.view.peek())), [step, meta]);
  useEffect(() => pair(first.state, timeline.state, kept.offset), [timeline, kept.offset]);
  return (
    <>
      <p class="tl-second-head">
        <strong>{visible(run)}</strong>{" "}
        <span class="quiet">
          {kept.step === null
            ? "aligned at the first step: no number of a step is in both"
            : `aligned on step ${kept.step}`}
        </span>
        <AlignForm first={first} step={kept.step} />
        <button
          type="button"
          class="button"
          onClick={() => {
            first.state.second.value = null;
          }}
        >
          Close
        </button>
      </p>
      <Ruler timeline={timeline} />
      <Stage timeline={timeline} />
    </>
  );
}

/** Which step both are aligned on. */
function AlignForm({ first, step }: { first: Timeline; step: number | null }) {
  const { second } = first.state;
  if (step === null) return null;
  return (
    <label class="tl-align">
      Step{" "}
      <input
        class="field"
        type="number"
        value={step}
        onChange={(event) => {
          const wanted = Number(event.currentTarget.value);
          if (second.value) second.value = { ...second.value, step: wanted };
        }}
      />
    </label>
  );
}
