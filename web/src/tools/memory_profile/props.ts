/** What this page is given, and the stretch of time that its charts share. */

import type { MemoryProfile, MemorySystem } from "../../api/types.gen.ts";
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

/** The stretch of the address; where it has none, that in which the memory's use changes. */
export function spanOf({ params }: MemoryProps, memory: MemorySystem): readonly [number, number] {
  const first = Number(params.from_ms || (memory.changes?.from_ms ?? 0));
  const last = Number(params.to_ms || (memory.changes?.to_ms ?? 1));
  return last > first ? [first, last] : [first, first + 1];
}

/** What widens the stretch that is shown; null where all is. */
export function wider(
  props: MemoryProps,
  memory: MemorySystem,
  xs: Float64Array,
): { readonly label: string; readonly onClick: () => void } | null {
  const { params } = props;
  const [begin, end] = [memory.changes?.from_ms ?? null, memory.changes?.to_ms ?? null];
  const [first = 0, last = 0] = [xs[0], xs[xs.length - 1]];
  const onSpan = spanSetter(props);
  if (params.from_ms || params.to_ms) {
    return { label: "Zoom out", onClick: () => onSpan(null) };
  }
  if (begin === null || end === null || (begin <= first && end >= last)) return null;
  return { label: "Whole recording", onClick: () => onSpan([first, last]) };
}
