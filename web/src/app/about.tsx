/** About this profile: what was opened, what was not and why, what each missing page would need. */

import { useEffect } from "preact/hooks";
import { getResult } from "../api/client.ts";
import type { FileInfo, OverviewPage, RunInfo, ToolInfo } from "../api/types.gen.ts";
import { bytes, MISSING, moment, plural } from "../base/format.ts";
import { OverviewRun } from "../tools/overview_page/this_run.tsx";
import { Facts } from "../widgets/facts.tsx";
import { Hint } from "../widgets/notice.tsx";
import { PlainTable } from "../widgets/plain_table.tsx";
import { useAnswer } from "./state/answer.ts";
import { loadSession, pageHref, route, session } from "./state/shell.ts";

export interface AboutProps {
  readonly run: RunInfo;
  readonly tools: readonly ToolInfo[];
}

export function About({ run, tools }: AboutProps) {
  const info = session.value;
  // Files are opened as their runs are chosen, so what is known about them grows.
  useEffect(() => void loadSession(), []);
  if (!info) return null;
  const overview = tools.find((tool) => tool.id === "overview_page" && tool.available);
  return (
    <div class="about">
      <header class="page-head">
        <h1>About this profile</h1>
        <p class="quiet">Opened by Stepscope {info.version}.</p>
      </header>
      <section>
        <h2>Recording</h2>
        <Facts
          facts={[
            { label: "Name", value: run.name },
            { label: "Folder", value: <code>{run.path}</code>, wide: true },
            { label: "Hosts", value: run.hosts.join(", ") },
            { label: "Size", value: bytes(run.bytes) },
            { label: "Newest file", value: moment(run.modified) },
            { label: "Opened path", value: <code>{info.path}</code>, wide: true },
          ]}
        />
      </section>
      <FileList files={info.files} notes={info.notes} root={info.path} />
      <Unavailable tools={tools} />
      {/* Last: it arrives last, and nothing below it may move. */}
      {overview && <RunFacts run={run} />}
    </div>
  );
}

function RunFacts({ run }: { run: RunInfo }) {
  const query = { run: run.id, host: route.value.host };
  const { value } = useAnswer(
    `overview_page ${JSON.stringify(query)}`,
    `overview_page${run.id}`,
    run.id,
    (signal) => getResult("overview_page", query, signal),
  );
  return value ? <OverviewRun result={value as OverviewPage} /> : null;
}

const STATES: Readonly<Record<FileInfo["state"], string>> = {
  opened: "opened",
  damaged: "partly opened",
  failed: "not opened",
  skipped: "skipped",
  waiting: "not opened yet",
};

export interface FileListProps {
  readonly files: readonly FileInfo[];
  /** What the search for files left out. */
  readonly notes: readonly string[];
  /** The opened path; files below it are named from there. */
  readonly root: string;
}

/** A longer list would hide what is below it. */
const MOST_FILES = 10;

function below(path: string, root: string): string {
  const folder = root.replace(/\/?$/, "/");
  return path.startsWith(folder) ? path.slice(folder.length) : path;
}

export function FileList({ files, notes, root }: FileListProps) {
  if (files.length === 0) return null;
  const count = (state: FileInfo["state"]) => files.filter((file) => file.state === state).length;
  const waiting = count("waiting");
  const troubled = count("damaged") + count("failed") > 0;
  return (
    <section>
      <header class="section-head">
        <h2>Files</h2>
        <p class="quiet">
          {count("opened")} of {plural(files.length, "file")} fully opened
          {waiting > 0 && `, ${waiting} open when you choose their run`}
        </p>
      </header>
      <details class="few-steps" open={files.length <= MOST_FILES || troubled}>
        <summary>Show all files</summary>
        <PlainTable
          named={false}
          heads={["File", "Size", "State", "Reason and hint"]}
          isNumeric={(column) => column === 1}
          rows={files.map((file) => [
            <code>{below(file.path, root)}</code>,
            file.bytes < 0 ? MISSING : bytes(file.bytes),
            <span class={`mark state-${file.state}`}>{STATES[file.state]}</span>,
            <>
              {file.reason}
              {file.hint && <span class="quiet"> {file.hint}</span>}
            </>,
          ])}
        />
      </details>
      {notes.length > 0 && (
        <ul class="notes quiet">
          {notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      )}
    </section>
  );
}

function Unavailable({ tools }: { tools: readonly ToolInfo[] }) {
  const missing = tools.filter((tool) => !tool.available);
  if (missing.length === 0) return null;
  return (
    <section>
      <h2>Pages with nothing to show</h2>
      <dl class="missing-pages">
        {missing.map((tool) => (
          <div key={tool.id}>
            <dt>
              <a href={pageHref(tool.id)}>{tool.title}</a>
            </dt>
            <dd>
              {tool.missing}
              <Hint text={tool.record} />
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
