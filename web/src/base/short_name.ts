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

/**
 * Short names that still tell the given names apart. Those of one recording's kernels differ as they
 * come, and are numbered alike on every page; here those are numbered that come from several.
 */
export function shortNames(names: readonly string[]): string[] {
  const used = new Set<string>();
  const paths = shortPaths(names);
  return names.map((name, i) => {
    const short = shortName(name);
    if (short === name) return paths[i] as string;
    let shown = short;
    for (let number = 2; used.has(shown); number++) shown = `${short} (${number})`;
    used.add(shown);
    return shown;
  });
}
