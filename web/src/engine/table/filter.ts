/** Which rows of a table to show: a text or /regular expression/ over its words, and conditions. */

import { storedValue } from "./column_unit.ts";
import { type Column, columnOf, type Table, type TextColumn } from "./table.ts";

export type Relation = "~" | "=" | ">=" | "<=";

export interface Condition {
  readonly column: string;
  /** "~" contains (or /regex/), "=" is exactly; numbers take ">=" and "<=". */
  readonly relation: Relation;
  /** As typed: in the unit shown, or with a unit of its own ("5 ms"). */
  readonly value: string;
}

export interface Selection {
  readonly rows: Uint32Array;
  /** Why a condition was not applied, for the person who typed it; "" when all were. */
  readonly problem: string;
}

type Test = (row: number) => boolean;

/** Rows that pass the text and every condition, in their own order. */
export function selectRows(
  table: Table,
  query: string,
  conditions: readonly Condition[],
): Selection {
  const tests: Test[] = [];
  const problems: string[] = [];
  const keep = (made: Test | string | null): void => {
    if (typeof made === "string") problems.push(made);
    else if (made) tests.push(made);
  };
  keep(queryTest(table, query));
  for (const condition of conditions) keep(conditionTest(table, condition));
  const found: number[] = [];
  for (let row = 0; row < table.rows; row++) {
    if (tests.every((test) => test(row))) found.push(row);
  }
  return { rows: Uint32Array.from(found), problem: problems.join(" ") };
}

/** A predicate for one text, or why it is none. `/…/` is a regular expression; case is ignored. */
export function wordMatcher(text: string): ((word: string) => boolean) | string {
  const pattern = /^\/(.+)\/$/s.exec(text)?.[1];
  if (pattern !== undefined) {
    try {
      const expression = new RegExp(pattern, "i");
      return (word) => expression.test(word);
    } catch (error) {
      return `${error instanceof Error ? error.message : "Not a valid regular expression"}.`;
    }
  }
  const wanted = text.toLowerCase();
  return (word) => word.toLowerCase().includes(wanted);
}

function queryTest(table: Table, query: string): Test | string | null {
  if (query.trim() === "") return null;
  const matches = wordMatcher(query.trim());
  if (typeof matches === "string") return matches;
  const tests = table.columns
    .filter((column) => column.type === "text" && column.meta.kind !== "flag")
    .map((column) => dictionaryTest(column as TextColumn, matches));
  return (row) => tests.some((test) => test(row));
}

/** Tests each distinct word once; rows then look their code up. */
function dictionaryTest(column: TextColumn, matches: (word: string) => boolean): Test {
  const passes = Uint8Array.from(column.words, (word) => (matches(word) ? 1 : 0));
  return (row) => passes[column.codes[row] as number] === 1;
}

function conditionTest(table: Table, condition: Condition): Test | string | null {
  const column = columnOf(table, condition.column);
  if (!column) return `There is no column “${condition.column}”.`;
  if (condition.value.trim() === "") return null;
  return column.type === "number" ? boundTest(column, condition) : textTest(column, condition);
}

function boundTest(column: Column & { type: "number" }, condition: Condition): Test | string {
  const bound = storedValue(condition.value, column.meta, column.shown);
  if (Number.isNaN(bound)) return `${column.meta.label}: “${condition.value}” is not a number.`;
  const { values } = column;
  if (condition.relation === ">=") return (row) => (values[row] as number) >= bound;
  if (condition.relation === "<=") return (row) => (values[row] as number) <= bound;
  if (condition.relation === "=") return (row) => values[row] === bound;
  return `${column.meta.label} holds numbers: use ≥, ≤ or =.`;
}

function textTest(column: TextColumn, condition: Condition): Test | string {
  if (condition.relation === "=") {
    return dictionaryTest(column, (word) => word === condition.value);
  }
  if (condition.relation !== "~") return `${column.meta.label} holds text: use contains or is.`;
  const matches = wordMatcher(condition.value);
  return typeof matches === "string" ? matches : dictionaryTest(column, matches);
}
