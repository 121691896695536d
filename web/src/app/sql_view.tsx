/** The SQL page in the frame: its tables and its answer loaded, or why there is none. */

import { getQueryAnswer, getQueryTables } from "../api/queries.ts";
import type { RunInfo } from "../api/types.gen.ts";
import type { PageFor } from "../tools/sections/page_link.ts";
import { SqlPage } from "../tools/sql/page.tsx";
import { useAnswer } from "./state/answer.ts";
import { route } from "./state/shell.ts";
import { Failure, setParams } from "./tool_view.tsx";

interface SqlViewProps {
  readonly run: RunInfo;
  readonly pageFor: PageFor;
}

export function SqlView({ run, pageFor }: SqlViewProps) {
  const { host, params, selection } = route.value;
  const query = params.q ?? "";
  const scope = { run: run.id, host, ...selection };
  const tables = useAnswer("sql tables", "sql tables", run.id, getQueryTables);
  const key = `sql ${JSON.stringify(scope)} ${query}`;
  const answer = useAnswer(key, `sql ${run.id}`, run.id, (signal) =>
    query ? getQueryAnswer(scope, query, signal) : Promise.resolve(null),
  );
  return (
    <>
      <header class="page-head">
        <h1>SQL</h1>
        <p class="quiet">Ask the recording's tables. A query reads them and nothing else.</p>
      </header>
      <SqlPage
        tables={tables.value}
        query={query}
        answer={answer.error ? null : answer.value}
        waiting={answer.waiting}
        scope={scope}
        params={params}
        onParams={setParams}
        pageFor={pageFor}
      />
      {answer.error && <Failure error={answer.error} status={0} />}
      {tables.error && <Failure error={tables.error} status={tables.status} />}
    </>
  );
}
