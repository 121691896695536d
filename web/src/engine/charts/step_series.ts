/** Steps as a chart shows them. */

import type { Part } from "../../base/parts.ts";

export interface StepSeries {
  /** Number of each step as it was recorded. */
  readonly numbers: ArrayLike<number>;
  /** Step time, ms. */
  readonly totals: Float64Array;
  /** In stacking order; values in ms. */
  readonly layers: readonly { readonly part: Part; readonly values: Float64Array }[];
  readonly kept: readonly boolean[];
  /** What a column stands for, "step" where not said; `places` names each one in its tip. */
  readonly noun?: string;
  readonly places?: readonly string[];
}
