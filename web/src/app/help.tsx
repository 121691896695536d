/** The keys, in a dialog. */

import type { ToolInfo } from "../api/types.gen.ts";
import { Dialog } from "../widgets/overlay/dialog.tsx";
import { helpOpen, pageLetters } from "./state/keys.ts";

const KEYS: readonly (readonly [string, string])[] = [
  ["/, Ctrl K or ⌘ K", "Find an op, kernel, line, module, step, finding, page, run or host"],
  ["f", "Filter the table"],
  ["1 … 5", "Open a view by its place"],
  ["?", "This help"],
  ["Esc", "Close, or clear the rows picked; then take the last part off the selection"],
];

const TABLE_KEYS: readonly (readonly [string, string])[] = [
  ["↑ ↓ PgUp PgDn Home End", "Move; with Shift: select a range"],
  ["Ctrl A, Ctrl C", "Select all rows shown; copy the selected ones"],
  ["← → in a chart", "Read the values one by one; Enter zooms in"],
];

export function Help({ tools }: { tools: readonly ToolInfo[] }) {
  const titles = new Map(tools.map((tool) => [tool.id, tool.title]));
  const pages = [...pageLetters(tools)].map(
    ([letter, page]) => [`g ${letter}`, titles.get(page) ?? "About this profile"] as const,
  );
  return (
    <Dialog
      title="Shortcuts"
      class="help"
      onClose={() => {
        helpOpen.value = false;
      }}
    >
      <div class="help-columns">
        <KeyList keys={KEYS} />
        <KeyList keys={TABLE_KEYS} />
        <KeyList keys={pages} />
      </div>
    </Dialog>
  );
}

function KeyList({ keys }: { keys: readonly (readonly [string, string])[] }) {
  return (
    <dl class="keys">
      {keys.map(([key, meaning]) => (
        <div key={key}>
          <dt>
            <kbd>{key}</kbd>
          </dt>
          <dd>{meaning}</dd>
        </div>
      ))}
    </dl>
  );
}
