/**
 * Sentences with values of a result in them, as a tool declares them for its page.
 *
 * "{step_time_ms}" is a value with its unit, "{straggler.host}" that of a record, "{models.requests}"
 * the first row of a table. "{growth?}" prints nothing and asks for a value other than 0; so does
 * "{verdict=healthy?}" for this one. "[, at {file}]" is left out, and "a | b" is b, where a value is
 * missing.
 */

import { isColumnarTable } from "../../base/columns.ts";
import { fieldText, type Words } from "../../base/fields.ts";

export type ValueOf = (path: string) => unknown;

const SLOT = /\{([\w.]+)(?:=(\w+))?(\?)?\}/g;
const OPTIONAL = /\[([^\]]*)\]/;

/** The text; null if each of its alternatives lacks a value. */
export function filled(template: string, valueAt: ValueOf, words: Words = {}): string | null {
  for (const alternative of template.split(" | ")) {
    // Splitting by an expression with a group gives what must be known and what may be in turn.
    const pieces = alternative.split(OPTIONAL).map((piece, i) => {
      const text = pieceText(piece, valueAt, words);
      return text ?? (i % 2 ? "" : null);
    });
    if (!pieces.includes(null)) return pieces.join("");
  }
  return null;
}

function pieceText(piece: string, valueAt: ValueOf, words: Words): string | null {
  let isKnown = true;
  const text = piece.replace(SLOT, (_, path: string, wanted?: string, asks?: string) => {
    const value = valueAt(path);
    const [field = "", parent = ""] = path.split(".").reverse();
    if (wanted === undefined ? isMissing(value) : String(value) !== wanted) isKnown = false;
    if (!asks) return fieldText(field, value, parent, words);
    if (value === 0 || value === false) isKnown &&= wanted !== undefined;
    return "";
  });
  return isKnown ? text : null;
}

function isMissing(value: unknown): boolean {
  return value === undefined || value === null || value === "" || Number.isNaN(value);
}

/** Values of a result by their path; of a table those of its first row, or "table.1.column". */
export function valuesOf(result: object, extra: Readonly<Record<string, unknown>> = {}): ValueOf {
  return (path) => {
    let value: unknown = extra[path] ?? result;
    if (value !== result) return value;
    const steps = path.split(".");
    while (steps.length > 0) {
      const step = steps.shift() as string;
      if (isColumnarTable(value)) {
        if (step === "rows") return value.rows;
        const isRow = /^\d+$/.test(step);
        const cells = value.columns[isRow ? (steps.shift() ?? "") : step] ?? [];
        return steps[0] === "all" ? cells : cells[isRow ? Number(step) : 0];
      }
      value = (value as Readonly<Record<string, unknown>> | null | undefined)?.[step];
    }
    return value;
  };
}
