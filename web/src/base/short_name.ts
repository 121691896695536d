/**
 * Names of kernels as people call them. The server tells which ones: an answer brings the short
 * names of those it holds, and a name has one short name wherever it is.
 */

import { shortPaths } from "./short_path.ts";
import { visible } from "./text.ts";

const SHORT = new Map<string, string>();

/** Keeps the short names that an answer brings along; other answers have none. */
export function learnShortNames(answer: unknown): void {
  const { short_names: brought } = (answer ?? {}) as { short_names?: unknown };
  if (typeof brought !== "object" || brought === null) return;
  for (const [name, short] of Object.entries(brought)) {
    if (typeof short !== "string") continue;
    SHORT.set(name, visible(short));
    SHORT.set(visible(name), visible(short));
  }
}

/** The short name, or the name itself where it has none. */
export function shortName(name: string): string {
  return SHORT.get(name) ?? name;
}

/** Short names that still tell the given names apart: which ones are in one list, only it knows. */
export function shortNames(names: readonly string[]): string[] {
  const used = new Map<string, number>();
  const paths = shortPaths(names);
  return names.map((name, i) => {
    const short = shortName(name);
    if (short === name) return paths[i] as string;
    const before = used.get(short) ?? 0;
    used.set(short, before + 1);
    return before === 0 ? short : `${short} (${before + 1})`;
  });
}
