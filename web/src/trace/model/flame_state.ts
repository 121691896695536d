/** The flame of the selected range: how it is grouped, what it is compared with, and its answer. */

import { type ReadonlySignal, signal } from "@preact/signals";
import { getFlame, type TimelineScope } from "../../api/timeline.ts";
import type { FlameAnswer } from "../../base/timeline.ts";
import type { FlameView } from "../../engine/timeline/address.ts";
import type { Asked, Range } from "./asked.ts";
import { troubleOf } from "./tile_loader.ts";

const NOTHING: Asked<FlameAnswer> = { value: null, waiting: false, problem: "" };

export class FlameState {
  /** null: the range is shown as tables. */
  readonly view;
  readonly answer = signal<Asked<FlameAnswer>>(NOTHING);
  private asking: AbortController | null = null;

  constructor(
    private readonly scope: TimelineScope,
    private readonly range: ReadonlySignal<Range | null>,
    view: FlameView | null,
  ) {
    this.view = signal<FlameView | null>(view);
  }

  change(part: Partial<FlameView>): void {
    if (this.view.value) this.view.value = { ...this.view.value, ...part };
  }

  async load(): Promise<void> {
    this.asking?.abort();
    const [view, range] = [this.view.value, this.range.value];
    if (!view || !range) {
      this.answer.value = NOTHING;
      return;
    }
    const control = new AbortController();
    this.asking = control;
    this.answer.value = { ...this.answer.value, waiting: true, problem: "" };
    try {
      const value = await getFlame(this.scope, question(view, range), control.signal);
      if (!control.signal.aborted) this.answer.value = { value, waiting: false, problem: "" };
    } catch (error) {
      if (control.signal.aborted) return;
      this.answer.value = { value: null, waiting: false, problem: troubleOf(error).what };
    }
  }

  stop(): void {
    this.asking?.abort();
  }
}

function question(view: FlameView, range: Range): Record<string, string | number> {
  const begin = Math.round(range.span.begin);
  return {
    start_ps: begin,
    end_ps: Math.max(Math.round(range.span.end), begin + 1),
    ...(range.tracks ? { tracks: range.tracks.join(",") } : {}),
    by: view.by,
    ...(view.inverted ? { inverted: "yes" } : {}),
    ...(view.base
      ? { base_start_ps: Math.round(view.base.begin), base_end_ps: Math.round(view.base.end) }
      : {}),
    ...(view.baseRun ? { base_run: view.baseRun } : {}),
  };
}
