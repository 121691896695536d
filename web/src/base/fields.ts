/** The meaning of a result's field, read from the published suffix of its name. */

import type { Kind } from "./columns.ts";
import {
  bytes,
  count,
  duration,
  fixed,
  flopRate,
  MISSING,
  percent,
  significant,
} from "./format.ts";
import { visible } from "./text.ts";

interface Suffix {
  readonly ending: string;
  readonly unit: string;
  readonly kind: Kind;
  readonly show: (value: number) => string;
}

const SUFFIXES: readonly Suffix[] = [
  { ending: "_ps", unit: "ps", kind: "time", show: (v) => duration(v, "ps") },
  { ending: "_ns", unit: "ns", kind: "time", show: (v) => duration(v, "ns") },
  { ending: "_us", unit: "µs", kind: "time", show: (v) => duration(v, "µs") },
  { ending: "_ms", unit: "ms", kind: "time", show: (v) => duration(v, "ms") },
  { ending: "_bytes", unit: "B", kind: "bytes", show: bytes },
  { ending: "_frac", unit: "%", kind: "ratio", show: percent },
  { ending: "_pct", unit: "%", kind: "number", show: (v) => `${fixed(v, 1)}%` },
  { ending: "_gflops", unit: "GFLOP/s", kind: "rate", show: flopRate },
  { ending: "_tflop", unit: "TFLOP", kind: "number", show: (v) => `${significant(v)} TFLOP` },
  { ending: "_tflops", unit: "TFLOP/s", kind: "rate", show: (v) => `${significant(v)} TFLOP/s` },
  { ending: "_gbps", unit: "GB/s", kind: "rate", show: (v) => `${significant(v)} GB/s` },
  { ending: "_gbitps", unit: "Gbit/s", kind: "rate", show: (v) => `${significant(v)} Gbit/s` },
  { ending: "_flops", unit: "FLOP", kind: "number", show: (v) => `${significant(v)} FLOP` },
];

function suffixOf(field: string): Suffix | undefined {
  return SUFFIXES.find((suffix) => field.endsWith(suffix.ending));
}

/** Labels of fields, by name, as the server gives them with a tool. */
export type Labels = Readonly<Record<string, string>>;

/** What a field is called; keys of a map are names of the recording and stay as they are. */
export function fieldLabel(labels: Labels, field: string): string {
  return labels[field] ?? visible(field);
}

/** Unit and kind of a numeric field. `parent` is the field it is nested in: "time_ms.mean" is in ms. */
export function fieldMeaning(field: string, parent = ""): { unit: string; kind: Kind } {
  const suffix = suffixOf(field) ?? suffixOf(parent);
  return suffix ? { unit: suffix.unit, kind: suffix.kind } : { unit: "", kind: "number" };
}

/** Of fields that are one of a few values: these in words, as the server gives them with a tool. */
export type Words = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** A scalar of a result as text with its unit. */
export function fieldText(field: string, value: unknown, parent = "", words: Words = {}): string {
  if (value === null || value === undefined || value === "") return MISSING;
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value !== "number") return words[field]?.[String(value)] ?? visible(String(value));
  const suffix = suffixOf(field) ?? suffixOf(parent);
  if (suffix) return suffix.show(value);
  return Number.isInteger(value) ? count(value) : significant(value);
}
