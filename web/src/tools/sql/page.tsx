/** SQL: a query, the tables it may name, and its answer as chart and table. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { columnMetas } from "../../api/columns.ts";
import { type QueryScope, queryFileUrl } from "../../api/queries.ts";
import type { QueryInfo, QueryTablesInfo } from "../../api/types.gen.ts";
import { count, duration, plural } from "../../base/format.ts";
import { subParams, withSubParams } from "../../engine/address.ts";
import { placeOf } from "../../engine/row_places.ts";
import { viewFromParams, viewToParams } from "../../engine/table/grid_view.ts";
import { buildTable, columnOf, type Table } from "../../engine/table/table.ts";
import { eventIdParams } from "../../engine/timeline/links.ts";
import { TableChart } from "../../widgets/charts/table_chart.tsx";
import { Grid } from "../../widgets/grid/grid.tsx";
import type { PageFor, Params } from "../sections/page_link.ts";
import { RowLinks } from "../sections/row_links.tsx";
import { QueryMenu } from "./query_menu.tsx";
import { TablesList } from "./tables_list.tsx";

const TABLE = "rows";

export interface SqlPageProps {
  readonly tables: QueryTablesInfo | null;
  /** The query that is answered; "" for none yet. */
  readonly query: string;
  readonly answer: QueryInfo | null;
  readonly waiting: boolean;
  readonly scope: QueryScope;
  readonly params: Params;
  readonly onParams: (params: Params) => void;
  readonly pageFor: PageFor;
}

export function SqlPage(props: SqlPageProps) {
  const { tables, query, answer, waiting, scope, params, onParams } = props;
  const [typed, setTyped] = useState(query);
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => setTyped(query), [query]);
  const run = (text: string) => {
    setTyped(text);
    onParams({ ...withSubParams(params, TABLE, {}), q: text.trim() });
  };
  const insert = (word: string) => {
    const { selectionStart: at = typed.length, selectionEnd: to = at } = area.current ?? {};
    setTyped(typed.slice(0, at) + word + typed.slice(to));
    area.current?.focus();
  };
  return (
    <div class="sql-page">
      <section class="sql-query">
        <form
          onSubmit={(event) => {
            event.preventDefault();
            run(typed);
          }}
        >
          <textarea
            ref={area}
            class="field sql-text"
            aria-label="Query"
            placeholder="SELECT name, duration_us FROM kernels …"
            spellcheck={false}
            rows={Math.min(14, Math.max(4, typed.split("\n").length + 1))}
            value={typed}
            onInput={(event) => setTyped(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
              event.preventDefault();
              run(typed);
            }}
          />
          <p class="actions">
            <button type="submit" class="button" disabled={typed.trim() === ""}>
              Run <kbd>Ctrl Enter</kbd>
            </button>
            <QueryMenu
              examples={query ? (tables?.examples ?? []) : []}
              typed={typed}
              onChoose={run}
            />
            {answer && !waiting && (
              <span class="quiet" role="status">
                {answer.cut ? "the first " : ""}
                {plural(answer.rows, "row")} in {duration(answer.seconds ?? 0, "s")}
                {answer.cut && "; files hold up to 1,000,000"}
              </span>
            )}
            {waiting && query && <span class="quiet">Running …</span>}
          </p>
        </form>
        <TablesList tables={tables?.tables ?? []} onChoose={insert} />
      </section>
      {!query && (tables?.examples.length ?? 0) > 0 && (
        <section>
          <h2>Begin with</h2>
          <ul class="sql-examples">
            {tables?.examples.map((one) => (
              <li key={one.question}>
                <button type="button" class="button" onClick={() => run(one.query)}>
                  {one.question}
                </button>
              </li>
            ))}
          </ul>
        </section>
      )}
      {answer && <AnswerSection {...props} answer={answer} scope={scope} />}
    </div>
  );
}

function AnswerSection(props: SqlPageProps & { readonly answer: QueryInfo }) {
  const { answer, query, scope, params, onParams, waiting, pageFor } = props;
  const table = useMemo(
    () => buildTable(answer as Parameters<typeof buildTable>[0], columnMetas(answer.schema)),
    [answer],
  );
  const state = JSON.stringify(subParams(params, TABLE));
  const view = useMemo(() => viewFromParams(JSON.parse(state) as Record<string, string>), [state]);
  const track = answer.has_times ? pageFor("trace_viewer", { query }) : null;
  if (table.rows === 0) return <p class="quiet">The query ran and found no rows.</p>;
  return (
    <div class={waiting ? "sql-answer stale" : "sql-answer"} aria-busy={waiting}>
      <TableChart table={table} file="query" />
      <section>
        <header class="section-head">
          <h2>Rows</h2>
          {answer.cut && <p class="quiet">the first {count(answer.rows)}; add LIMIT or save all</p>}
          {track && (
            <a class="button" href={track.href}>
              Show as track
            </a>
          )}
        </header>
        <Grid
          table={table}
          view={view}
          onView={(next) => onParams(withSubParams(params, TABLE, viewToParams(next)))}
          label="Rows"
          exportHref={(format) => queryFileUrl(scope, query, format)}
          details={(row) => (
            <>
              <EventLink table={table} row={row} pageFor={pageFor} />
              <RowLinks place={placeOf(table, row)} pageFor={pageFor} query={{ ...scope }} />
            </>
          )}
          sums={false}
        />
      </section>
    </div>
  );
}

/** To the very event of a row, where the answer has its id. */
function EventLink({ table, row, pageFor }: { table: Table; row: number; pageFor: PageFor }) {
  const number = (name: string) => {
    const column = columnOf(table, name);
    return column?.type === "number" ? (column.values[row] as number) : Number.NaN;
  };
  const id = number("event");
  if (Number.isNaN(id)) return null;
  const link = pageFor(
    "trace_viewer",
    eventIdParams(id, number("start_us"), number("duration_us")),
  );
  return link ? (
    <p class="actions">
      <a class="button" href={link.href}>
        Show this event
      </a>
    </p>
  ) : null;
}
