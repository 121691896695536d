/** What is beside the pointer in the step chart, and is read out as the arrow keys move. */

import { duration, percent } from "../../base/format.ts";
import type { Bin } from "../../engine/charts/bins.ts";
import type { StepSeries } from "../../engine/charts/step_series.ts";
import { tipLeft } from "../../engine/key_step.ts";
import { Swatch } from "./textures.tsx";

export interface StepTipProps {
  readonly series: StepSeries;
  readonly bin: Bin;
  /** Middle of the column, px. */
  readonly x: number;
  readonly width: number;
  readonly scope: string;
}

const TIP_PX = 268;

export function StepTip({ series, bin, x, width, scope }: StepTipProps) {
  const step = bin.shown;
  const total = series.totals[step] as number;
  const left = tipLeft(x, width, TIP_PX, 12);
  const parts = series.layers
    .map(({ part, values }) => ({ part, ms: values[step] as number }))
    .filter(({ ms }) => ms > 0)
    .reverse();
  const noun = series.noun ?? "step";
  const title = noun.charAt(0).toUpperCase() + noun.slice(1);
  const many = bin.last > bin.first;
  return (
    <div class="tip" role="status" style={{ left: `${left}px`, width: `${TIP_PX}px` }}>
      <p class="tip-head">
        <strong>
          {title} {series.numbers[step]}
        </strong>{" "}
        <span>{duration(total, "ms")}</span>
      </p>
      {series.places?.[step] && <p class="quiet">{series.places[step]}</p>}
      {many && (
        <p class="quiet">
          Slowest of {noun}s {series.numbers[bin.first]} to {series.numbers[bin.last]}
        </p>
      )}
      {series.kept[step] === false && (
        <p class="quiet">Cut at the edge of the recording; not counted</p>
      )}
      <ul class="tip-parts">
        {parts.map(({ part, ms }) => (
          <li key={part.id}>
            <Swatch part={part} scope={`${scope}-tip`} />
            <span class="legend-name">{part.label}</span>
            <span>{duration(ms, "ms")}</span>
            <span class="quiet">{percent(ms / total)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
