/** Go to: one list of everything that has an address. */

import { reportNotes } from "../api/client.ts";
import type { ToolInfo } from "../api/types.gen.ts";
import { Dialog } from "../widgets/overlay/dialog.tsx";
import { type Choice, ChoiceList } from "../widgets/overlay/picker.tsx";
import { paletteOpen } from "./state/keys.ts";
import { currentRun, navigate, route, session } from "./state/shell.ts";

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
    ...(reportNotes
      ? []
      : [{ id: "page sql", label: "SQL", detail: "Queries over the recording's tables" }]),
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

export function Palette({ tools }: { tools: readonly ToolInfo[] }) {
  const close = () => {
    paletteOpen.value = false;
  };
  return (
    <Dialog title="Go to" class="palette" onClose={close}>
      <ChoiceList
        name="Pages, runs and hosts"
        placeholder="Page, run or host"
        choices={choices(tools)}
        onChoose={(id) => {
          close();
          goTo(id);
        }}
      />
    </Dialog>
  );
}
