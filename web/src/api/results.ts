/** The answers of the tools that have a page of their own, as they travel with `layout=columns`. */

import type { ColumnarTable } from "../base/columns.ts";
import type { ResultBody } from "./types.ts";

type Maybe = number | null;

export interface Finding {
  readonly rule: string;
  readonly severity: "info" | "low" | "medium" | "high";
  readonly saving_ms: Maybe;
  readonly confidence: number;
  readonly message: string;
  readonly evidence: readonly { readonly tool: string; readonly what: string }[];
  readonly actions: readonly string[];
}

export interface Steps {
  readonly count: number;
  readonly source: string;
  readonly confidence: Maybe;
  readonly dropped: number;
  readonly time_ms: Readonly<Record<"mean" | "std" | "min" | "max" | "median" | "p95", Maybe>>;
  readonly explanation: string;
}

export interface Environment {
  readonly host_count: number;
  readonly task_count: number;
  readonly framework: string;
  readonly device_type: string;
  readonly device_count: number;
  readonly devices: readonly string[];
  readonly profile_duration_ms: Maybe;
  readonly profile_start: string;
  readonly task_type: string;
  readonly versions: Readonly<Record<string, string>>;
}

export interface OverviewPage extends ResultBody {
  readonly headline: string;
  readonly bound_by: string;
  readonly bound_frac: Maybe;
  readonly steps: Steps;
  readonly breakdown_ms: Readonly<Record<string, Maybe>>;
  readonly breakdown_std_ms: Readonly<Record<string, Maybe>>;
  readonly device: { readonly busy_frac: Maybe; readonly idle_frac: Maybe };
  readonly precision: { readonly bits_16_frac: Maybe; readonly bits_32_frac: Maybe };
  readonly op_shares: Readonly<Record<string, Maybe>>;
  readonly environment: Environment;
  readonly completeness: { readonly verdict: string; readonly notes: readonly string[] };
  readonly next_steps: readonly string[];
  readonly top_ops: ColumnarTable;
  readonly step_table: ColumnarTable;
  readonly findings: readonly Finding[];
}

export interface SideTotals {
  readonly op_time_us: Maybe;
  readonly idle_time_us: Maybe;
  readonly op_count: number;
  readonly distinct_ops: number;
}

export interface FrameworkOpStats extends ResultBody {
  readonly ops: ColumnarTable;
  readonly host: SideTotals;
  readonly device: SideTotals;
  readonly device_type: string;
  readonly task_type: string;
}
