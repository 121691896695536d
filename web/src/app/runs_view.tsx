/** The list of runs in the frame. */

import type { RunInfo } from "../api/types.gen.ts";
import { formatHash } from "../engine/address.ts";
import { RunsPage } from "../tools/runs/page.tsx";
import { loadSession, route, session } from "./state/shell.ts";
import { setParams } from "./tool_view.tsx";

export function RunsView({ run }: { run: RunInfo }) {
  return (
    <>
      <header class="page-head">
        <h1>Runs</h1>
        <p class="quiet">
          Everything recorded below <code>{session.value?.path}</code>. Press a row to open, compare
          or note it.
        </p>
      </header>
      <RunsPage
        runs={session.value?.runs ?? []}
        current={run.id}
        params={route.value.params}
        onParams={setParams}
        hrefOf={(page, of, params = {}) =>
          formatHash({ page, run: of, host: "", per: route.value.per, selection: {}, params })
        }
        onNoted={() => void loadSession()}
      />
    </>
  );
}
