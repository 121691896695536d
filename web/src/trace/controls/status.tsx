/** What is missing from the picture, why, and what happens about it. */

import { plural } from "../../base/format.ts";
import type { Timeline } from "../stage/timeline.ts";

interface StatusProps {
  readonly timeline: Timeline;
  readonly onStale: () => void;
}

export function Status({ timeline, onStale }: StatusProps) {
  const { loader, state } = timeline;
  const trouble = loader.trouble.value;
  const { done, total } = loader.waiting.value;
  const flows = state.viewFlows.value;
  const missing = total - done;
  return (
    <>
      <progress
        class={`tl-progress ${missing > 0 ? "" : "idle"}`}
        aria-label="Tiles loaded"
        max={Math.max(1, total)}
        value={done}
      />
      {trouble && (
        <div class="tl-trouble" role="alert">
          <span>
            {trouble.stale
              ? "The recording has been replaced since this page was loaded."
              : `${plural(missing, "part")} of this view could not be loaded; retrying: ${trouble.what}`}
          </span>
          <button
            type="button"
            class="button"
            onClick={() => (trouble.stale ? onStale() : loader.retry())}
          >
            {trouble.stale ? "Reload" : "Try now"}
          </button>
        </div>
      )}
      {flows && flows.count > 0 && flows.arrows.length === 0 && (
        <p class="tl-note" role="status">
          {plural(flows.count, "arrow begins", "arrows begin")} in this view; zoom in to 1,000 or
          fewer to see them.
        </p>
      )}
    </>
  );
}
