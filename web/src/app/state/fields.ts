/** Columns of all pages by what they are called and what they mean, for those who search a word. */

import type { ToolInfo } from "../../api/types.gen.ts";
import { evidenceParams } from "../../engine/advice/evidence.ts";

export interface FoundField {
  readonly tool: string;
  readonly title: string;
  /** "Roofline", the page it is on, and its meaning. */
  readonly detail: string;
  readonly params: Readonly<Record<string, string>>;
}

type Documented = Pick<ToolInfo, "id" | "title" | "available" | "tables">;

interface Found {
  readonly tool: Documented;
  readonly what: string;
  readonly label: string;
  readonly help: string;
}

const MOST_FIELDS = 6;
const NO_MOMENT = { from_ms: null, to_ms: null };

/** The columns whose names, or whose help, have all the words; those by name first, each once. */
export function fieldsFor(typed: string, tools: readonly Documented[]): readonly FoundField[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const has = (text: string) => words.every((word) => text.toLowerCase().includes(word));
  const [named, explained]: [Found[], Found[]] = [[], []];
  const known = new Set<string>();
  for (const tool of words.length > 0 ? tools : []) {
    for (const [table, columns] of tool.available ? Object.entries(tool.tables) : []) {
      for (const column of columns) {
        const { name, label, help } = column;
        const isNamed = has(`${label} ${name}`);
        const key = `${label} ${help}`;
        if (known.has(key) || !(isNamed || has(help))) continue;
        known.add(key);
        (isNamed ? named : explained).push({ tool, what: `${table}.${name}`, label, help });
      }
    }
  }
  return [...named, ...explained].slice(0, MOST_FIELDS).map(({ tool, what, label, help }) => ({
    tool: tool.id,
    title: label,
    detail: ["column", tool.title, help].filter(Boolean).join(" · "),
    params: evidenceParams({ tool: tool.id, what, rows: [], ...NO_MOMENT }, tool.tables),
  }));
}
