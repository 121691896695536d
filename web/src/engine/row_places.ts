/** What a row of a table is about: an event of the timeline, a stretch of time, an instruction. */

import { type Part, rangeText } from "./address.ts";
import { columnOf, type Table, wordAt } from "./table/table.ts";

export interface RowPlace {
  /** The op, kernel, function or module that it is about; "" where it is a time. */
  readonly thing: string;
  /** Where that is in the program, as far as the row says. */
  readonly file: string;
  readonly line: string;
  /** The number of the step that it is; "" where it is none. */
  readonly step: string;
  /** Begin and end, ms of the recording; null where it has no time of its own. */
  readonly spanMs: readonly [number, number] | null;
  /** Where in the timeline: a device or track; "" for anywhere. */
  readonly where: string;
  /** Instruction of a compiled program; "" for none. */
  readonly instruction: string;
  /** What to copy. */
  readonly name: string;
  /** Parts of the recording that it stands for, as selections. */
  readonly parts: readonly (readonly [part: Part, value: string])[];
}

const PS_PER_MS = 1e9;
const THING_COLUMNS = [
  "kernel_name",
  "name",
  "operation",
  "op",
  "op_name",
  "function",
  "call",
  "hlo_op",
  "iterator",
  "instruction",
  "path",
] as const;
const INSTRUCTION_COLUMNS = ["hlo_op", "instruction"] as const;
/** Begin of a row and its length, in ms by this factor. */
const TIMES = [
  ["start_ms", "step_time_ms", 1],
  ["start_ms", "duration_ms", 1],
  ["start_ms", "length_ms", 1],
  ["start_ms", "duration_us", 1e-3],
  ["start_ms", "gap_us", 1e-3],
  ["start_ms", "length_us", 1e-3],
  ["start_ms", "latency_us", 1e-3],
  ["start_ms", "total_us", 1e-3],
] as const;

export function placeOf(table: Table, row: number): RowPlace {
  const text = (name: string): string => {
    const column = columnOf(table, name);
    return column?.type === "text" ? wordAt(column, row) : "";
  };
  const number = (name: string): number => {
    const column = columnOf(table, name);
    return column?.type === "number" ? (column.values[row] as number) : Number.NaN;
  };
  const first = (names: readonly string[]) => names.map(text).find((each) => each !== "") ?? "";
  const time = TIMES.find(([start, length]) => number(start) >= 0 && number(length) >= 0);
  const begin = time ? number(time[0]) : 0;
  const named = table.columns.find((column) => column.meta.kind === "name");
  const step = number("step_num");
  const host = text("host") || text("worker");
  const device = text("device").replace("/device:", "");
  const parts: [Part, string][] = [];
  if (step >= 0) parts.push(["steps", String(step)]);
  else if (time && number(time[1]) > 0) {
    const end = begin + number(time[1]) * time[2];
    parts.push(["range", rangeText(begin * PS_PER_MS, end * PS_PER_MS)]);
  }
  if (device || host) parts.push(["device", [host, device].filter(Boolean).join("/")]);
  return {
    thing: time ? "" : first(THING_COLUMNS),
    file: text("file"),
    step: step >= 0 && time ? String(step) : "",
    line: number("line") > 0 ? String(number("line")) : "",
    spanMs: time ? [begin, begin + number(time[1]) * time[2]] : null,
    where: time ? text("device") : "",
    instruction: first(INSTRUCTION_COLUMNS),
    name: named?.type === "text" ? wordAt(named, row) : "",
    parts,
  };
}
