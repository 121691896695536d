/** Preferences kept in the browser; where storage is denied (sandboxed frames) they last a visit. */

const session = new Map<string, string>();

/** Files that are opened from a disk share one store, or have none: they remember nothing. */
const KEPT = typeof window !== "undefined" && window.location?.protocol !== "file:";

/** The stored text, or null. */
export function recall(key: string): string | null {
  if (!KEPT) return session.get(key) ?? null;
  try {
    return window.localStorage.getItem(`stepscope.${key}`) ?? session.get(key) ?? null;
  } catch {
    return session.get(key) ?? null;
  }
}

/** Stores text, or forgets it when null. */
export function remember(key: string, value: string | null): void {
  if (value === null) session.delete(key);
  else session.set(key, value);
  if (!KEPT) return;
  try {
    if (value === null) window.localStorage.removeItem(`stepscope.${key}`);
    else window.localStorage.setItem(`stepscope.${key}`, value);
  } catch {
    // The map above already has it; nothing more can be done in a sandboxed frame.
  }
}
