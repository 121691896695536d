/** What this page is given, and the stretch of time that its charts share. */

import type { MemoryProfile } from "../../api/types.gen.ts";
import type { ToolPageProps } from "../sections/tool_page.tsx";

export type MemoryProps = ToolPageProps<MemoryProfile>;
export type OnSpan = (span: readonly [number, number] | null) => void;

/** Puts a stretch into the address; null for the whole recording. */
export function spanSetter({ params, onParams }: MemoryProps): OnSpan {
  return (span) =>
    onParams({
      ...params,
      from_ms: span ? span[0].toFixed(6) : "",
      to_ms: span ? span[1].toFixed(6) : "",
    });
}

/** The stretch of the address; where it has none, that of the points. */
export function spanOf(xs: Float64Array, from = "", to = ""): readonly [number, number] {
  const first = from ? Number(from) : (xs[0] ?? 0);
  const last = to ? Number(to) : (xs[xs.length - 1] ?? 1);
  return last > first ? [first, last] : [first, first + 1];
}
