/** The timeline's page in the frame: its recording loaded, with progress, or why it cannot be. */

import { useEffect, useState } from "preact/hooks";
import { getTimelineMeta } from "../api/timeline.ts";
import type { RunInfo, ToolInfo } from "../api/types.gen.ts";
import { rangeText } from "../engine/address.ts";
import type { Params } from "../tools/sections/page_link.ts";
import { Thing } from "../tools/sections/row_links.tsx";
import { TimelinePage } from "../trace/timeline_page.tsx";
import { useAnswer } from "./state/answer.ts";
import { route, select, session, timelineShown } from "./state/shell.ts";
import { Failure, pagesOf, Waiting } from "./tool_view.tsx";

const TITLE = "Timeline";

interface TimelineViewProps {
  /** null while it is on its way. */
  readonly tool: ToolInfo | null;
  readonly tools: readonly ToolInfo[];
  readonly run: RunInfo;
  readonly onParams: (params: Params) => void;
}

export function TimelineView({ tool, tools, run, onParams }: TimelineViewProps) {
  const { host, params, selection } = route.value;
  // Counts how often the recording was replaced: its answer must not come from the cache then.
  const [generation, setGeneration] = useState(0);
  const key = `timeline ${run.id} ${host} ${generation}`;
  const answer = useAnswer(key, key, run.id, (signal) => getTimelineMeta(run.id, host, signal));
  useEffect(() => timelineShown, []);
  useEffect(() => {
    if (answer.error) timelineShown();
  }, [answer.error]);
  if (answer.value) {
    return (
      <TimelinePage
        key={answer.value.fingerprint + host}
        title={tool?.title ?? TITLE}
        meta={answer.value}
        run={run.id}
        runs={(session.value?.runs ?? []).map(({ id }) => id)}
        host={host}
        params={params}
        onParams={onParams}
        selection={selection}
        onSelectRange={(span) => select("range", rangeText(span.begin, span.end))}
        about={(name) => (
          <Thing
            name={name}
            pageFor={pagesOf(tools)}
            query={{ ...selection, run: run.id, host }}
            onSelect={select}
          />
        )}
        onStale={() => setGeneration(generation + 1)}
        onShown={timelineShown}
      />
    );
  }
  return (
    <>
      <header class="page-head">
        <h1>{tool?.title ?? TITLE}</h1>
        <p class="quiet">{tool?.summary}</p>
      </header>
      {answer.error && <Failure error={answer.error} status={answer.status} />}
      {answer.waiting && <Waiting progress={answer.progress} />}
    </>
  );
}
