/** One of a few choices, all in sight. */

import { useId } from "preact/hooks";
import { capitalised } from "../base/text.ts";

export interface SegmentsProps {
  readonly label: string;
  readonly choices: readonly string[];
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly help?: string | undefined;
}

export function Segments({ label, choices, value, onValue, help }: SegmentsProps) {
  const group = useId();
  return (
    <fieldset class="segments" title={help}>
      <legend>{label}</legend>
      {choices.map((choice) => (
        <label key={choice} class={choice === value ? "segment chosen" : "segment"}>
          <input
            type="radio"
            name={group}
            checked={choice === value}
            onChange={() => onValue(choice)}
          />
          {capitalised(choice)}
        </label>
      ))}
    </fieldset>
  );
}
