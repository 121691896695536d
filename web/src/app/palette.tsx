/** Go to: one list of everything that has an address. */

import { useEffect, useState } from "preact/hooks";
import { getThings, reportNotes } from "../api/client.ts";
import type { ThingInfo, ToolInfo } from "../api/types.gen.ts";
import { shortName } from "../base/short_name.ts";
import type { Route } from "../engine/address.ts";
import { evidenceParams } from "../engine/advice/evidence.ts";
import { Dialog } from "../widgets/overlay/dialog.tsx";
import { type Choice, ChoiceList } from "../widgets/overlay/picker.tsx";
import { paletteOpen } from "./state/keys.ts";
import { currentRun, navigate, route, session } from "./state/shell.ts";

/** Pages that ask a server, which a report has not. */
const ASKING: readonly Choice[] = [
  { id: "page runs", label: "Runs", detail: "All runs with step time, verdict, tags and notes" },
  { id: "page sql", label: "SQL", detail: "Queries over the recording's tables" },
];

function choices(tools: readonly ToolInfo[]): Choice[] {
  const runs = session.value?.runs ?? [];
  const hosts = currentRun.value?.hosts ?? [];
  return [
    ...tools.map((tool) => ({
      id: `page ${tool.id}`,
      label: tool.title,
      detail: tool.available ? tool.summary : tool.missing,
      keywords: `${tool.id} ${tool.short}`,
    })),
    ...(reportNotes ? [] : ASKING),
    { id: "page about", label: "About this profile", detail: "Files, versions, missing data" },
    ...runs.map((run) => ({ id: `run ${run.id}`, label: run.name, detail: `Run, ${run.path}` })),
    ...(hosts.length > 1
      ? hosts.map((host) => ({ id: `host ${host}`, label: host, detail: "Host of this run" }))
      : []),
  ];
}

function goTo(choice: string): void {
  const space = choice.indexOf(" ");
  const [kind, id] = [choice.slice(0, space), choice.slice(space + 1)];
  const now = route.value;
  if (kind === "page") navigate({ ...now, page: id, params: {} });
  else if (kind === "run") navigate({ ...now, run: id, host: "", params: {} });
  else navigate({ ...now, host: id });
}

/** The address of a thing: its page, its rows or its moment selected. */
function thingChoice(thing: ThingInfo, tools: readonly ToolInfo[]): Choice & { route: Route } {
  const tables = tools.find((tool) => tool.id === thing.tool)?.tables ?? {};
  const rows = thing.row ? [thing.row] : [];
  const params = evidenceParams({ ...thing, what: thing.table, rows }, tables);
  const { kind, name, detail, tool } = thing;
  return {
    id: `thing ${kind} ${name}`,
    label: shortName(name),
    detail: [kind, detail].filter(Boolean).join(" · "),
    route: { ...route.value, page: tool, params },
  };
}

/** Waits for a pause in typing, so that a word asks once. */
const PAUSE_MS = 120;

/** What the typed text names in the run; a report has no server to ask. */
function useThings(typed: string, tools: readonly ToolInfo[]) {
  const [found, setFound] = useState<readonly (Choice & { route: Route })[]>([]);
  const [waiting, setWaiting] = useState(false);
  const run = currentRun.value?.id ?? "";
  const host = route.value.host;
  useEffect(() => {
    if (reportNotes || !run || typed.trim() === "") {
      setFound([]);
      setWaiting(false);
      return;
    }
    const abort = new AbortController();
    setWaiting(true);
    const timer = setTimeout(() => {
      getThings({ run, host, q: typed }, abort.signal)
        .then((things) => setFound(things.map((thing) => thingChoice(thing, tools))))
        .catch(() => abort.signal.aborted || setFound([]))
        .finally(() => abort.signal.aborted || setWaiting(false));
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [typed, run, host, tools]);
  return { found, waiting };
}

export function Palette({ tools }: { tools: readonly ToolInfo[] }) {
  const [typed, setTyped] = useState("");
  const { found, waiting } = useThings(typed, tools);
  const close = () => {
    paletteOpen.value = false;
  };
  return (
    <Dialog title="Go to" class="palette" onClose={close}>
      <ChoiceList
        name="Pages, runs, hosts and things in the recording"
        placeholder="Page, op, kernel, module, function, finding, step, run or host"
        choices={choices(tools)}
        more={found}
        waiting={waiting}
        onType={setTyped}
        onChoose={(id) => {
          close();
          const thing = found.find((choice) => choice.id === id);
          if (thing) navigate(thing.route);
          else goTo(id);
        }}
      />
    </Dialog>
  );
}
