/** The critical path of the selected range, and the slack of the selected event. */

import { type ReadonlySignal, signal } from "@preact/signals";
import { getPath, type TimelineScope } from "../../api/timeline.ts";
import type { PathAnswer, TimelineMeta } from "../../base/timeline.ts";
import type { Asked, Range } from "./asked.ts";
import { troubleOf } from "./tile_loader.ts";

const NOTHING: Asked<PathAnswer> = { value: null, waiting: false, problem: "" };

export class PathState {
  readonly on;
  readonly answer = signal<Asked<PathAnswer>>(NOTHING);
  private asking: AbortController | null = null;

  constructor(
    private readonly meta: TimelineMeta,
    private readonly scope: TimelineScope,
    private readonly range: ReadonlySignal<Range | null>,
    private readonly event: ReadonlySignal<number | null>,
    on: boolean,
  ) {
    this.on = signal(on);
  }

  async load(): Promise<void> {
    this.asking?.abort();
    const range = this.range.value;
    if (!this.on.value || !range) {
      this.answer.value = NOTHING;
      return;
    }
    const control = new AbortController();
    this.asking = control;
    this.answer.value = { ...this.answer.value, waiting: true, problem: "" };
    const begin = Math.round(range.span.begin);
    const question = {
      start_ps: begin,
      end_ps: Math.max(Math.round(range.span.end), begin + 1),
      host_number: this.hostOf(range),
      event: this.event.value ?? -1,
    };
    try {
      const value = await getPath(this.scope, question, control.signal);
      if (!control.signal.aborted) this.answer.value = { value, waiting: false, problem: "" };
    } catch (error) {
      if (control.signal.aborted) return;
      this.answer.value = { value: null, waiting: false, problem: troubleOf(error).what };
    }
  }

  /** The host whose tracks were chosen. */
  private hostOf(range: Range): number {
    const track = this.meta.tracks[range.tracks?.[0] ?? -1];
    return this.meta.sections[track?.section ?? -1]?.host ?? 0;
  }

  stop(): void {
    this.asking?.abort();
  }
}
