/** The frame of every page, and the choice of what is in it. */

import { useEffect, useRef } from "preact/hooks";
import { getTools, reportNotes } from "../api/client.ts";
import {
  type ErrorInfo,
  type RunInfo,
  type SessionInfo,
  type ToolInfo,
  VIEWS,
} from "../api/types.gen.ts";
import { Notice } from "../widgets/notice.tsx";
import { About, FileList } from "./about.tsx";
import { CaptureButton, CaptureDialog } from "./capture_dialog.tsx";
import { Header } from "./header.tsx";
import { Help } from "./help.tsx";
import { Palette } from "./palette.tsx";
import { RunsView } from "./runs_view.tsx";
import { SqlView } from "./sql_view.tsx";
import { type Loaded, useAnswer } from "./state/answer.ts";
import { captureOpen } from "./state/capture.ts";
import { helpOpen, listenForKeys, paletteOpen } from "./state/keys.ts";
import {
  beforeTools,
  currentRun,
  isTimeline,
  loadSession,
  navigate,
  route,
  serverGone,
  session,
  sessionError,
} from "./state/shell.ts";
import { TimelineView } from "./timeline_view.tsx";
import { Failure, pagesOf, setParams, ToolView, Waiting } from "./tool_view.tsx";
import { type Entry, entriesOf, opensOn } from "./views.tsx";

const HOME = "overview_page";
const NO_TOOLS: readonly ToolInfo[] = [];

export function Shell() {
  const run = currentRun.value;
  const host = route.value.host;
  const answer = useAnswer(`tools ${run?.id} ${host}`, `tools ${run?.id}`, run?.id ?? "", () =>
    run ? beforeTools().then(() => getTools(run.id, host)) : Promise.resolve(NO_TOOLS),
  );
  const tools = answer.value ?? NO_TOOLS;
  const entries = entriesOf(tools);
  const latest = useRef({ tools, entries });
  latest.current = { tools, entries };
  useEffect(
    () =>
      listenForKeys(
        () => latest.current.tools,
        (goal) => {
          const tabs = typeof goal === "number" ? (VIEWS[goal - 1]?.[1] ?? []) : [];
          const page = typeof goal === "number" ? opensOn(tabs, latest.current.entries)?.id : goal;
          if (page) navigate({ ...route.value, page, params: {} });
        },
      ),
    [],
  );
  const page = resolvePage(route.value.page, tools, entries);
  const tool = tools.find((each) => each.id === page);
  const title = entries.find(({ id }) => id === page)?.title;
  useEffect(() => {
    document.title = [title, run?.name, "Stepscope"].filter(Boolean).join(" · ");
  }, [title, run?.name]);
  const seen = useRef(page);
  useEffect(() => {
    // What had the focus went with the last page.
    const isLost = document.activeElement === document.body && seen.current !== page;
    seen.current = page;
    if (isLost) document.getElementById("main")?.focus({ preventScroll: true });
  }, [page]);
  return (
    <div class="shell">
      <button type="button" class="skip" onClick={() => document.getElementById("main")?.focus()}>
        Skip to content
      </button>
      <Header
        home={HOME}
        entries={entries}
        page={page}
        timesOf={tool?.available ? tool.times_of : []}
      />
      {serverGone.value && <GoneBanner />}
      {reportNotes && reportNotes.length > 0 && <ReportBanner notes={reportNotes} />}
      <main id="main" class="main" tabIndex={-1}>
        <Content run={run} answer={answer} page={page} />
      </main>
      {captureOpen.value && <CaptureDialog />}
      {helpOpen.value && <Help tools={tools} />}
      {paletteOpen.value && <Palette tools={tools} entries={entries} />}
    </div>
  );
}

/** The id of the page an address means: an id, a short name, a view, or nothing at all. */
function resolvePage(name: string, tools: readonly ToolInfo[], entries: readonly Entry[]): string {
  if (tools.some((tool) => tool.id === name)) return name;
  const short = tools.find((tool) => tool.short === name);
  if (short) return short.id;
  // The first view's page is not there for a run that is too large to open as a whole.
  const tabs = name
    ? VIEWS.find(([view]) => view.toLowerCase() === name)?.[1]
    : VIEWS.flatMap(([, each]) => each);
  const known = tools.length > 0 && tabs && opensOn(tabs, entries);
  return known ? known.id : name || HOME;
}

interface ContentProps {
  readonly run: RunInfo | null;
  readonly answer: Loaded<readonly ToolInfo[]>;
  readonly page: string;
}

function Content({ run, answer, page }: ContentProps) {
  const info = session.value;
  if (sessionError.value) return <Failure main error={sessionError.value} status={0} />;
  if (!info) return serverGone.value ? <GoneNotice /> : <Waiting progress={null} />;
  if (!run) return <NoRun />;
  if (answer.error) {
    return <RunFailure info={info} error={answer.error} status={answer.status} />;
  }
  const tool = answer.value?.find((each) => each.id === page);
  if (isTimeline(page) && (!answer.value || tool?.available)) {
    // The tracks do not wait for what the other tools lack.
    const tools = answer.value ?? NO_TOOLS;
    return (
      <TimelineView key={run.id} tool={tool ?? null} tools={tools} run={run} onParams={setParams} />
    );
  }
  if (!answer.value) return <Waiting progress={answer.progress} />;
  if (page === "sql") return <SqlView key={run.id} run={run} pageFor={pagesOf(answer.value)} />;
  if (page === "runs") return <RunsView run={run} />;
  if (page === "about") return <About run={run} tools={answer.value} />;
  if (tool) return <ToolView key={tool.id + run.id} tool={tool} tools={answer.value} run={run} />;
  return (
    <Notice main title={`There is no page “${page}”.`}>
      <p>The views above hold all pages; “By tool” lists them by name.</p>
    </Notice>
  );
}

interface RunFailureProps {
  readonly info: SessionInfo;
  readonly error: ErrorInfo;
  readonly status: number;
}

/** A run that does not open: why, and what is known about its files. */
function RunFailure({ info, error, status }: RunFailureProps) {
  // The files were looked at since the session was asked for.
  useEffect(() => void loadSession(), []);
  return (
    <div class="about">
      <Failure main error={error} status={status} />
      <FileList files={info.files} notes={info.notes} root={info.path} />
    </div>
  );
}

function NoRun() {
  const info = session.value;
  const wanted = route.value.run;
  if (!info) return null;
  if (info.runs.length > 0) {
    return (
      <Notice main title={`There is no run “${wanted}” here.`}>
        <p>
          Looked in <code>{info.path}</code>. Choose one of these:
        </p>
        <ul>
          {info.runs.map((run) => (
            <li key={run.id}>
              <a href={`#/overview_page?run=${encodeURIComponent(run.id)}`}>{run.name}</a>
            </li>
          ))}
        </ul>
      </Notice>
    );
  }
  return (
    <div class="about">
      <Notice
        main
        title="No profile was found."
        hint={"Record one, or open another folder:\nstepscope demo\nstepscope serve PATH"}
        actions={info.capture_allowed && <CaptureButton />}
      >
        <p>
          Looked in <code>{info.path}</code> and every folder below it
          {info.files.length > 0
            ? "; these files look similar:"
            : ". No file there looks like a profile."}
        </p>
        {info.files.length === 0 && info.notes.map((note) => <p key={note}>{note}</p>)}
      </Notice>
      <FileList files={info.files} notes={info.notes} root={info.path} />
    </div>
  );
}

/** What this file leaves out, where nobody can overlook it. */
function ReportBanner({ notes }: { notes: readonly string[] }) {
  return (
    <aside class="report-notes" aria-label="About this report">
      {notes.map((note) => (
        <p key={note}>{note}</p>
      ))}
    </aside>
  );
}

function GoneBanner() {
  return (
    <div class="gone" role="alert">
      <span>
        The Stepscope server does not answer. This page stays readable; start the server again with{" "}
        <code>stepscope serve</code>.
      </span>
      <button type="button" class="button" onClick={() => void loadSession()}>
        Try again
      </button>
    </div>
  );
}

function GoneNotice() {
  return (
    <Notice main title="The Stepscope server does not answer." hint="stepscope serve PATH">
      <p>It was stopped, or this page outlived it.</p>
    </Notice>
  );
}
