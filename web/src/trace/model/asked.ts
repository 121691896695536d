/** What parts of the timeline's state share. */

import type { Span } from "../../base/timeline.ts";

/** A question to the server whose answer a part of the page shows. */
export interface Asked<T> {
  readonly value: T | null;
  readonly waiting: boolean;
  readonly problem: string;
}

/** A selected stretch of time. */
export interface Range {
  readonly span: Span;
  /** null: all tracks. */
  readonly tracks: readonly number[] | null;
}
