/**
 * Paths of ops and files by what tells them apart: the scopes that nearly all of a list share say
 * nothing of one of them, and where a name is cut they are all that is left to read.
 */

/** Of the paths that come through one scope, the share that goes on into the same next one. */
const SHARED = 0.8;
const FEWEST_PARTS = 3;
const LONG = 28;
/** Lists with more names are not read name by name: nobody compares them by eye. */
const MOST_NAMES = 20_000;
const CUT = "…";

interface Scope {
  paths: number;
  readonly next: Map<string, Scope>;
}

/** The names, with the scopes that others share drawn as "…"; each still differs from the others. */
export function shortPaths(names: readonly string[]): string[] {
  const paths = names.length > MOST_NAMES ? [] : names.filter(isPath);
  if (paths.length < 2) return [...names];
  const root: Scope = { paths: 0, next: new Map() };
  for (const path of paths) add(root, path.split("/"));
  const short = names.map((name) => (isPath(name) ? withoutShared(root, name) : name));
  const used = new Map<string, number>();
  for (const name of short) used.set(name, (used.get(name) ?? 0) + 1);
  return short.map((name, i) => ((used.get(name) ?? 0) > 1 ? (names[i] as string) : name));
}

function isPath(name: string): boolean {
  return name.length > LONG && name.split("/").length >= FEWEST_PARTS;
}

function add(root: Scope, parts: readonly string[]): void {
  let scope = root;
  scope.paths += 1;
  for (const part of parts.slice(0, -1)) {
    let next = scope.next.get(part);
    if (!next) {
      next = { paths: 0, next: new Map() };
      scope.next.set(part, next);
    }
    next.paths += 1;
    scope = next;
  }
}

function withoutShared(root: Scope, name: string): string {
  const parts = name.split("/");
  const kept: string[] = [];
  let scope: Scope | undefined = root;
  for (const part of parts.slice(0, -1)) {
    const next: Scope | undefined = scope?.next.get(part);
    const isShared =
      scope !== undefined && next !== undefined && next.paths >= Math.max(2, SHARED * scope.paths);
    if (!isShared) kept.push(part);
    else if (kept.at(-1) !== CUT) kept.push(CUT);
    scope = next;
  }
  const short = [...kept, parts.at(-1) as string].join("/");
  return short.length < name.length ? short : name;
}
