/** How many examples a step trains on, where the recording does not tell, and what comes of it. */

import { plural, significant } from "../../base/format.ts";
import { optionOf } from "../sections/tool_page.tsx";
import type { OverviewProps } from "./props.ts";

export function BatchSize(props: OverviewProps) {
  const option = optionOf(props, "batch_size");
  const { examples_per_s: rate, examples_per_step: size } = props.result.throughput;
  return (
    <section>
      <h3>Throughput</h3>
      <p>
        {rate === null
          ? "Unknown: the recording does not tell the batch size."
          : `${significant(rate)} examples per second, ${plural(size ?? 0, "example")} per step.`}
      </p>
      <label class="option-text" title={option.help}>
        Batch size
        <input
          class="field"
          inputMode="numeric"
          size={8}
          value={option.value}
          onChange={(event) => option.onValue(event.currentTarget.value.trim())}
        />
      </label>
    </section>
  );
}
