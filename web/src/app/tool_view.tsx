/** One tool's page: its heading and options, then its answer, or why there is none. */

import type { ComponentChildren } from "preact";
import { getResult, reportNotes } from "../api/client.ts";
import type { ErrorInfo, ProgressInfo, ResultBody, RunInfo, ToolInfo } from "../api/types.gen.ts";
import { baseOf, formatHash } from "../engine/address.ts";
import { pageOf } from "../tools/index.ts";
import type { PageFor, Params } from "../tools/sections/page_link.ts";
import { Boundary } from "../widgets/boundary.tsx";
import { Notice, ProgressBar } from "../widgets/notice.tsx";
import { chosenOptions, Options } from "./options.tsx";
import { useAnswer } from "./state/answer.ts";
import { navigate, pageHref, route, select, session } from "./state/shell.ts";

export interface ToolViewProps {
  readonly tool: ToolInfo;
  readonly tools: readonly ToolInfo[];
  readonly run: RunInfo;
}

/** Whether only the state of tables and charts differs: such changes make no entry in history. */
function isViewChange(before: Params, after: Params): boolean {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].every((name) => name.includes(".") || before[name] === after[name]);
}

/** Goes to the same page with other options or another view. */
export function setParams(params: Params): void {
  const now = route.value;
  navigate({ ...now, params }, isViewChange(now.params, params) ? "replace" : "push");
}

export function ToolView({ tool, tools, run }: ToolViewProps) {
  return (
    <>
      {tool.id !== "overview_page" && (
        <header class="page-head">
          <h1>{tool.title}</h1>
          <p class="quiet">{tool.summary}</p>
        </header>
      )}
      {tool.available ? (
        <Answer tool={tool} tools={tools} run={run} />
      ) : (
        <Notice title={tool.missing || "There is nothing to show."} hint={tool.record}>
          <p>This profile has no data for this page. The other pages are not affected.</p>
        </Notice>
      )}
    </>
  );
}

/** Links to the pages of these tools. */
export function pagesOf(tools: readonly ToolInfo[]): PageFor {
  const toolOf = (id: string) => tools.find((each) => each.id === id);
  const linkTo = (id: string, wanted: Params = {}) => {
    const other = toolOf(id);
    if (!other?.available) return null;
    const { title, tables, times_of: timesOf } = other;
    return { href: pageHref(id, wanted), title, tables, timesOf };
  };
  return Object.assign(linkTo, { titleOf: (id: string) => toolOf(id)?.title ?? null });
}

/** What to ask the times to be of; nothing where the tool's are per step by themselves. */
function askedBase({ times_of: timesOf }: ToolInfo): Params {
  const base = baseOf(route.value);
  // A report holds each page as it is by itself.
  if (reportNotes || !timesOf.includes(base)) return {};
  return base === "step" && timesOf[0] === "step" ? {} : { per: base };
}

function Answer({ tool, tools, run }: ToolViewProps) {
  const { host, params, selection } = route.value;
  const { Page, Recover, owns = [] } = pageOf(tool);
  const options = { ...tool.opens, ...chosenOptions(tool.options, params) };
  // A report holds the answers to nothing but all of the recording.
  const part: Params = reportNotes ? {} : selection;
  const isPart = Object.keys(part).length > 0;
  const query: Params = { run: run.id, host, ...askedBase(tool), ...part, ...options };
  const key = `${tool.id} ${JSON.stringify(query)}`;
  const answer = useAnswer(key, tool.id + run.id, run.id, (signal) =>
    getResult(tool.id, query, signal),
  );
  const asked = tool.options.filter((option) => !owns.includes(option.name));
  const runs = (session.value?.runs ?? []).map(({ id }) => id);
  const pageFor = pagesOf(tools);
  return (
    <>
      <div class="asked">
        {asked.length > 0 && (
          <Options
            options={asked}
            opens={tool.opens}
            params={params}
            onOption={(name, value) => setParams({ ...params, [name]: value })}
          />
        )}
        {answer.value && <PartSaid tool={tool} result={answer.value} isPart={isPart} />}
      </div>
      {answer.error && (
        <Failure
          error={answer.error}
          status={answer.status}
          actions={
            <>
              {Recover && <Recover {...{ tool, params, query }} onParams={setParams} />}{" "}
              {Object.keys(params).length > 0 && <a href={pageHref(tool.id)}>Start over</a>}{" "}
              {isPart && (
                <a href={formatHash({ ...route.value, selection: {} })}>Whole recording</a>
              )}
            </>
          }
        />
      )}
      {answer.value && answer.waiting && answer.progress?.state === "opening" && (
        <Waiting progress={answer.progress} />
      )}
      {answer.value ? (
        <div class={answer.waiting ? "stale" : ""} aria-busy={answer.waiting}>
          <Boundary of={key} what={tool.title}>
            <Page
              tool={tool}
              result={answer.value}
              params={params}
              onParams={setParams}
              onSelect={select}
              query={query}
              runs={runs}
              pageFor={pageFor}
            />
          </Boundary>
        </div>
      ) : (
        answer.waiting && <Waiting progress={answer.progress} />
      )}
    </>
  );
}

interface PartSaidProps {
  readonly tool: ToolInfo;
  readonly result: ResultBody;
  readonly isPart: boolean;
}

/** Which part of the recording a page is about, and what its times are of. */
function PartSaid({ tool, result, isPart }: PartSaidProps) {
  // The sentences of the overview say what its times are of.
  const times = tool.id === "overview_page" ? "" : result.times;
  const part = result.selection || (isPart ? "Whole runs: the selection does not apply here" : "");
  if (!times && !part) return null;
  return (
    <p class="quiet times-said">
      {part && <b>{part}. </b>}
      {times}
    </p>
  );
}

/** Nothing for a moment, then how far the server is. */
export function Waiting({ progress }: { progress: ProgressInfo | null }) {
  if (!progress) return <div class="waiting" aria-busy="true" />;
  const label = progress.message || progress.stage || "Working";
  return (
    <div class="waiting" aria-busy="true">
      {/* Work without a stage has no extent: that of the last stage has been reached. */}
      <ProgressBar label={label} done={progress.done} total={progress.stage ? progress.total : 0} />
    </div>
  );
}

const NOTHING_TO_SHOW = 409;

export interface FailureProps {
  readonly error: ErrorInfo;
  readonly status: number;
  /** When the page has no other heading. */
  readonly main?: boolean;
  readonly actions?: ComponentChildren;
}

export function Failure({ error, status, main = false, actions }: FailureProps) {
  return (
    <Notice main={main} title={error.what} hint={error.hint} actions={actions}>
      {error.why && <p class="sentence">{error.why}</p>}
      {error.where && (
        <p>
          <code>{error.where}</code>
        </p>
      )}
      {status !== NOTHING_TO_SHOW && status > 0 && (
        <p class="quiet">
          The server answered {status} ({error.error}).
        </p>
      )}
    </Notice>
  );
}
