/** Find: one list of everything that has an address. */

import { useEffect, useState } from "preact/hooks";
import { getThings, reportNotes } from "../api/client.ts";
import type { ThingInfo, ToolInfo } from "../api/types.gen.ts";
import { shortName } from "../base/short_name.ts";
import { narrowed, partText, type Route } from "../engine/address.ts";
import { evidenceParams } from "../engine/advice/evidence.ts";
import { Dialog } from "../widgets/overlay/dialog.tsx";
import { type Choice, ChoiceList } from "../widgets/overlay/picker.tsx";
import { fieldsFor } from "./state/fields.ts";
import { paletteOpen } from "./state/keys.ts";
import { currentRun, navigate, route, session } from "./state/shell.ts";
import type { Entry } from "./views.tsx";

function choices(tools: readonly ToolInfo[], entries: readonly Entry[]): Choice[] {
  const shorts = new Map(tools.map((tool) => [tool.id, tool.short]));
  const runs = session.value?.runs ?? [];
  const hosts = currentRun.value?.hosts ?? [];
  return [
    ...entries.map((entry) => ({
      id: `page ${entry.id}`,
      label: entry.title,
      detail: entry.available ? entry.summary : entry.missing,
      keywords: `${entry.id} ${shorts.get(entry.id) ?? ""} ${entry.tab}`,
    })),
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
  else if (kind === "run") navigate({ ...now, run: id, host: "", selection: {}, params: {} });
  else navigate({ ...now, host: id });
}

/** The address of a thing: its page, its rows or its moment selected. */
function thingChoice(thing: ThingInfo, tools: readonly ToolInfo[]): Choice & { route: Route } {
  const tables = tools.find((tool) => tool.id === thing.tool)?.tables ?? {};
  const rows = thing.row ? [thing.row] : [];
  const params = evidenceParams({ ...thing, what: thing.table, rows }, tables);
  const { kind, name, title, detail, tool } = thing;
  return {
    id: `thing ${kind} ${name}`,
    label: title || shortName(name),
    detail: [kind, detail].filter(Boolean).join(" · "),
    route: { ...route.value, page: tool, params },
  };
}

/** Waits for a pause in typing, so that a word asks once. */
const PAUSE_MS = 60;
const NOTHING: readonly (Choice & { route: Route })[] = [];

/** What the typed text names in the run; a report has no server to ask. */
function useThings(typed: string, tools: readonly ToolInfo[]) {
  const [answer, setAnswer] = useState({ typed: "", found: NOTHING });
  const run = currentRun.value?.id ?? "";
  const host = route.value.host;
  const asks = !reportNotes && run !== "";
  // The names are gathered once for a recording: while a person types, at the latest.
  useEffect(() => {
    const abort = new AbortController();
    if (asks) getThings({ run, host, q: "step" }, abort.signal).catch(() => undefined);
    return () => abort.abort();
  }, [asks, run, host]);
  useEffect(() => {
    if (!asks || typed.trim() === "") return;
    const abort = new AbortController();
    const timer = setTimeout(() => {
      getThings({ run, host, q: typed }, abort.signal)
        .then((things) => things.map((thing) => thingChoice(thing, tools)))
        .catch(() => NOTHING)
        .then((found) => abort.signal.aborted || setAnswer({ typed, found }));
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [asks, typed, run, host, tools]);
  const waiting = asks && typed.trim() !== "" && answer.typed !== typed;
  return { found: asks && typed.trim() ? answer.found : NOTHING, waiting };
}

/** Steps by their numbers are what a person selects. */
function selectable(typed: string): readonly (Choice & { route: Route })[] {
  const steps = /^(?:steps?\s*)?(\d+(?:-\d+)?)$/.exec(typed.trim())?.[1];
  if (!steps || reportNotes) return NOTHING;
  const now = route.value;
  const selection = narrowed(now.selection, "steps", steps);
  const label = `Select ${partText("steps", steps)}`;
  return [{ id: `select ${steps}`, label, detail: "on all pages", route: { ...now, selection } }];
}

/** Columns that are called so, or whose help says so. */
function fieldChoices(typed: string, tools: readonly ToolInfo[]) {
  return fieldsFor(typed, tools).map(({ tool, title, detail, params }) => ({
    id: `field ${tool} ${title} ${detail}`,
    label: title,
    detail,
    route: { ...route.value, page: tool, params },
  }));
}

interface PaletteProps {
  readonly tools: readonly ToolInfo[];
  readonly entries: readonly Entry[];
}

export function Palette({ tools, entries }: PaletteProps) {
  const [typed, setTyped] = useState("");
  const { found, waiting } = useThings(typed, tools);
  const more = [...selectable(typed), ...found, ...fieldChoices(typed, tools)];
  const close = () => {
    paletteOpen.value = false;
  };
  return (
    <Dialog title="Find" class="palette" onClose={close}>
      <ChoiceList
        name="Pages, runs, hosts and things in the recording"
        placeholder="Op, kernel, line, module, step or 10-20, finding, page, run or host"
        choices={choices(tools, entries)}
        more={more}
        waiting={waiting}
        onType={setTyped}
        onChoose={(id) => {
          close();
          const thing = more.find((choice) => choice.id === id);
          if (thing) navigate(thing.route);
          else goTo(id);
        }}
      />
    </Dialog>
  );
}
