/** The envelopes of the HTTP API, version 1. */

import type { ColumnMeta } from "../base/columns.ts";

export interface RunInfo {
  readonly id: string;
  readonly name: string;
  readonly path: string;
  readonly hosts: readonly string[];
  /** ISO 8601 time of the newest file. */
  readonly modified: string;
  readonly bytes: number;
}

export interface FileInfo {
  readonly path: string;
  readonly bytes: number;
  readonly state: "opened" | "damaged" | "failed" | "skipped";
  readonly reason: string;
  readonly do: string;
}

export interface SessionInfo {
  readonly version: string;
  readonly path: string;
  readonly runs: readonly RunInfo[];
  readonly default_run: string;
  readonly files: readonly FileInfo[];
  readonly capture_allowed: boolean;
}

export interface OptionInfo {
  readonly name: string;
  readonly type: "bool" | "str" | "int" | "float";
  readonly default: string | number | boolean | null;
  readonly choices: readonly string[];
  readonly help: string;
}

export interface ToolInfo {
  readonly id: string;
  readonly short: string;
  readonly title: string;
  readonly group: string;
  readonly summary: string;
  readonly available: boolean;
  /** What the profile lacks, one sentence; "" when the tool is available. */
  readonly missing: string;
  /** How to record what is missing. */
  readonly record: string;
  readonly options: readonly OptionInfo[];
  readonly tables: Readonly<Record<string, readonly ColumnMeta[]>>;
}

export interface Progress {
  readonly state: "idle" | "opening" | "ready" | "failed";
  readonly stage: string;
  readonly done: number;
  readonly total: number;
  readonly message: string;
}

export interface Diagnostic {
  readonly slug: string;
  readonly severity: "info" | "warning" | "error";
  readonly message: string;
  readonly where: string;
}

/** What every tool's answer holds; the tool's own fields stand beside these. */
export interface ResultBody {
  readonly tool: string;
  readonly schema_version: number;
  readonly session: string;
  readonly hosts: readonly string[];
  readonly diagnostics: readonly Diagnostic[];
  readonly [field: string]: unknown;
}

/** Why a request gave no answer, in the words of the server. */
export interface ErrorBody {
  readonly error: string;
  readonly what: string;
  readonly where: string;
  readonly why: string;
  readonly do: string;
}
