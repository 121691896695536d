/** Queries that a person keeps in this browser, by name. */

import { signal } from "@preact/signals";
import { recall, remember } from "../../base/storage.ts";

export interface SavedQuery {
  readonly name: string;
  readonly query: string;
}

const KEY = "queries";

function stored(): readonly SavedQuery[] {
  try {
    const found: unknown = JSON.parse(recall(KEY) ?? "[]");
    return Array.isArray(found) ? found.filter(isSaved) : [];
  } catch {
    return [];
  }
}

function isSaved(value: unknown): value is SavedQuery {
  const { name, query } = (value ?? {}) as Partial<SavedQuery>;
  return typeof name === "string" && typeof query === "string";
}

export const savedQueries = signal<readonly SavedQuery[]>(stored());

/** Keeps a query under a name; one that has the name already is replaced. */
export function saveQuery(name: string, query: string): void {
  keep([...savedQueries.value.filter((each) => each.name !== name), { name, query }]);
}

export function forgetQuery(name: string): void {
  keep(savedQueries.value.filter((each) => each.name !== name));
}

function keep(queries: readonly SavedQuery[]): void {
  savedQueries.value = [...queries].sort((a, b) => a.name.localeCompare(b.name));
  remember(KEY, queries.length > 0 ? JSON.stringify(savedQueries.value) : null);
}
