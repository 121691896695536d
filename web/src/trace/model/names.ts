/** Names of slices by id, fetched a page at a time when one of them is to be drawn. */

import { getNames, type TimelineScope } from "../../api/timeline.ts";
import { visible } from "../../base/text.ts";
import type { TimelineMeta } from "../../base/timeline.ts";

const RETRY_MS = 3000;

export class NameStore {
  private readonly pages = new Map<number, readonly string[]>();
  private readonly asked = new Set<number>();

  constructor(
    private readonly scope: TimelineScope,
    private readonly meta: TimelineMeta,
    private readonly signal: AbortSignal,
    private readonly onArrival: () => void,
  ) {}

  /** The name, or null while it is on its way. */
  text(id: number): string | null {
    const page = Math.floor(id / this.meta.names.per_page);
    const known = this.pages.get(page);
    if (known) return known[id - page * this.meta.names.per_page] ?? "";
    void this.load(page);
    return null;
  }

  private async load(page: number): Promise<void> {
    if (this.asked.has(page)) return;
    this.asked.add(page);
    try {
      const answer = await getNames(this.scope, page, this.signal);
      this.pages.set(page, answer.names.map(visible));
      this.onArrival();
    } catch {
      // Tiles fail together with names and say so; labels only have to come back.
      if (!this.signal.aborted) window.setTimeout(() => this.asked.delete(page), RETRY_MS);
    }
  }
}
