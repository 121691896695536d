/** Brings the tiles of the screen: a few at a time, given up when they leave it, tried again. */

import { signal } from "@preact/signals";
import { ApiError, ServerGone } from "../../api/client.ts";
import { getTile, type TimelineScope } from "../../api/timeline.ts";
import type { TimelineMeta } from "../../base/timeline.ts";
import { decodeTile } from "../../engine/timeline/tile.ts";
import { budgets } from "../../engine/timeline/tile_budget.ts";
import {
  type Group,
  groupText,
  TILE_PX,
  type TileAddress,
  tileKey,
  tileSpan,
} from "../../engine/timeline/tile_grid.ts";
import type { TileStore } from "../../engine/timeline/tile_store.ts";

// More than a browser's connections to one server: it has the next question when an answer comes,
// while this thread may be busy drawing.
const AT_ONCE = 12;
const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 8000;
const STALE = 410;

/** Why parts of the screen are missing. */
export interface Trouble {
  readonly what: string;
  /** The recording was replaced: only loading the page again helps. */
  readonly stale: boolean;
  readonly gone: boolean;
}

export interface Waiting {
  readonly done: number;
  readonly total: number;
}

export class TileLoader {
  readonly trouble = signal<Trouble | null>(null);
  readonly waiting = signal<Waiting>({ done: 0, total: 0 });
  private wanted: readonly TileAddress[] = [];
  /** The most slices of each wanted tile. */
  private budgets: ReadonlyMap<string, number> = new Map();
  private readonly flying = new Map<string, AbortController>();
  private delay = FIRST_RETRY_MS;
  private timer = 0;

  constructor(
    private readonly scope: TimelineScope,
    private readonly meta: TimelineMeta,
    private readonly groups: readonly Group[],
    private readonly store: TileStore,
    private readonly onArrival: () => void,
  ) {}

  /** Tiles of the present screen, the most urgent first; replaces the last wish. */
  want(addresses: readonly TileAddress[]): void {
    this.wanted = addresses;
    const most = budgets(addresses, this.groups, this.meta.tracks);
    const keys = new Map(addresses.map((address, i) => [tileKey(address), most[i] as number]));
    this.budgets = keys;
    for (const [key, control] of this.flying) {
      if (!keys.has(key)) {
        control.abort();
        this.flying.delete(key);
      }
    }
    this.fill();
  }

  /** Asks at once for what failed. */
  retry(): void {
    window.clearTimeout(this.timer);
    this.timer = 0;
    this.fill();
  }

  stop(): void {
    this.want([]);
    window.clearTimeout(this.timer);
  }

  private fill(): void {
    const missing = this.wanted.filter((address) => !this.store.has(address));
    this.waiting.value = {
      done: this.wanted.length - missing.length,
      total: this.wanted.length,
    };
    if (this.timer !== 0 || this.trouble.value?.stale) return;
    for (const address of missing) {
      if (this.flying.size >= AT_ONCE) return;
      if (!this.flying.has(tileKey(address))) void this.load(address);
    }
  }

  private async load(address: TileAddress): Promise<void> {
    const key = tileKey(address);
    const control = new AbortController();
    this.flying.set(key, control);
    const group = this.groups[address.group] as Group;
    const span = tileSpan(address);
    const question = {
      tracks: groupText(group, this.meta.tracks),
      start_ps: span.begin,
      end_ps: span.end,
      width_px: TILE_PX,
      max_slices: this.budgets.get(key) as number,
    };
    try {
      const bytes = await getTile(this.scope, question, control.signal);
      this.store.put(address, decodeTile(bytes));
      this.trouble.value = null;
      this.delay = FIRST_RETRY_MS;
      this.onArrival();
    } catch (error) {
      if (control.signal.aborted) return;
      this.fail(error);
    } finally {
      if (this.flying.get(key) === control) this.flying.delete(key);
      if (!control.signal.aborted) this.fill();
    }
  }

  private fail(error: unknown): void {
    this.trouble.value = troubleOf(error);
    if (this.timer !== 0 || this.trouble.value.stale) return;
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      this.fill();
    }, this.delay);
    this.delay = Math.min(LONGEST_RETRY_MS, this.delay * 2);
  }
}

/** What a failed question means to the reader. */
export function troubleOf(error: unknown): Trouble {
  if (error instanceof ServerGone) return { what: error.message, stale: false, gone: true };
  if (error instanceof ApiError) {
    const what = [error.body.what, error.body.hint].filter(Boolean).join(" ");
    return { what, stale: error.status === STALE, gone: false };
  }
  const what = error instanceof Error ? error.message : String(error);
  return { what, stale: false, gone: false };
}
