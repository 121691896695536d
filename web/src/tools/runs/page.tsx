/** All runs: step time, verdict, device, tags and notes; the way to each, and to comparisons. */

import { useMemo } from "preact/hooks";
import type { RunFactsInfo, RunInfo } from "../../api/types.gen.ts";
import type { Cell, ColumnMeta } from "../../base/columns.ts";
import { moment, plural } from "../../base/format.ts";
import { subParams, withSubParams } from "../../engine/address.ts";
import { type GridView, viewFromParams, viewToParams } from "../../engine/table/grid_view.ts";
import { buildTable, type Table } from "../../engine/table/table.ts";
import { Grid } from "../../widgets/grid/grid.tsx";
import type { Params } from "../sections/page_link.ts";
import { type Facts, useRunFacts } from "../sections/run_facts.ts";
import { NoteForm } from "./note_form.tsx";

const TABLE = "runs";

export interface RunsPageProps {
  readonly runs: readonly RunInfo[];
  /** Id of the run that is looked at. */
  readonly current: string;
  readonly params: Params;
  readonly onParams: (params: Params) => void;
  readonly hrefOf: (page: string, run: string, params?: Params) => string;
  /** Notes were kept: the list is asked for again. */
  readonly onNoted: () => void;
}

export function RunsPage(props: RunsPageProps) {
  const { runs, params, onParams } = props;
  const facts = useRunFacts(
    runs.map(({ id }) => id),
    runs.map(({ id, modified }) => `${id} ${modified}`).join("\n"),
  );
  const table = useMemo(() => tableOf(runs, facts), [runs, facts]);
  const state = JSON.stringify(subParams(params, TABLE));
  const view = useMemo(() => withFacts(JSON.parse(state) as Record<string, string>), [state]);
  const left = runs.length - facts.size;
  return (
    <section class="tool-page">
      <p class="quiet" role="status">
        {left > 0 && `Reading ${plural(left, "run")} …`}
      </p>
      <Grid
        table={table}
        view={view}
        onView={(next) => onParams(withSubParams(params, TABLE, viewToParams(next)))}
        label="Runs"
        noun={["run", "runs"]}
        sums={false}
        details={(row) => {
          const run = runs[row];
          return run && <RunDetails {...props} run={run} facts={facts.get(run.id)} />;
        }}
      />
    </section>
  );
}

/** The table's view, with the columns that are still empty while facts arrive. */
function withFacts(state: Readonly<Record<string, string>>): GridView {
  const view = viewFromParams(state);
  return { ...view, shown: { ...ARRIVING, ...view.shown } };
}

const ARRIVING = { step_time_ms: true, device: true, verdict: true, steps: true };

function meta(
  name: string,
  label: string,
  kind: ColumnMeta["kind"],
  unit = "",
  help = "",
): ColumnMeta {
  return { name, label, unit, kind, help, sort: "", hidden: false };
}

const COLUMNS: readonly ColumnMeta[] = [
  meta("run", "Run", "name"),
  meta("recorded", "Recorded", "text"),
  {
    ...meta("step_time_ms", "Step time", "time", "ms", "Mean of the counted steps."),
    widthPx: 100,
  },
  { ...meta("device", "Devices", "category"), widthPx: 256 },
  { ...meta("verdict", "Verdict", "text"), widthPx: 400 },
  meta("tags", "Tags", "text"),
  meta("note", "Note", "text"),
  { ...meta("steps", "Steps", "count"), widthPx: 72 },
  meta("bytes", "Size", "bytes", "B"),
];

const FIRST_LINE = 80;

function tableOf(runs: readonly RunInfo[], facts: Facts): Table {
  const of = <T extends Cell>(value: (run: RunInfo, found: RunFactsInfo | undefined) => T) =>
    runs.map((run) => value(run, facts.get(run.id)));
  const columns: Record<string, readonly Cell[]> = {
    run: of((run) => run.name),
    recorded: of((run) => moment(run.modified)),
    step_time_ms: of((_, found) => found?.step_time_ms ?? null),
    device: of((_, found) => found?.device ?? ""),
    verdict: of((_, found) => found?.headline || found?.problem || ""),
    tags: of((run) => run.tags.join(", ")),
    note: of((run) => run.note.split("\n")[0]?.slice(0, FIRST_LINE) ?? ""),
    steps: of((_, found) => found?.steps || null),
    bytes: of((run) => run.bytes),
  };
  return buildTable({ rows: runs.length, columns }, COLUMNS);
}

interface DetailsProps extends RunsPageProps {
  readonly run: RunInfo;
  readonly facts: RunFactsInfo | undefined;
}

function RunDetails({ run, facts, current, hrefOf, onNoted }: DetailsProps) {
  return (
    <>
      {facts?.headline && <p>{facts.headline}</p>}
      <p class="run-actions">
        <a class="button" href={hrefOf("overview_page", run.id)}>
          Open
        </a>
        {run.id !== current && (
          <a class="button" href={hrefOf("compare", current, { baseline: run.id })}>
            Compare {current} with this
          </a>
        )}
        {run.id !== current && (
          <a class="button" href={hrefOf("compare", run.id, { baseline: current })}>
            Compare this with {current}
          </a>
        )}
      </p>
      <NoteForm key={run.id} run={run} onNoted={onNoted} />
    </>
  );
}
