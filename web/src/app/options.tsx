/** The options of a tool as a form; what is chosen is in the address. */

import type { OptionInfo } from "../api/types.gen.ts";
import { fieldMeaning } from "../base/fields.ts";
import { Segments } from "../widgets/segments.tsx";

export interface OptionsProps {
  readonly options: readonly OptionInfo[];
  /** What is asked with where nobody chose, other than the tool's own defaults. */
  readonly opens: Readonly<Record<string, string>>;
  readonly params: Readonly<Record<string, string>>;
  /** The value as it goes into the address; "" for the default. */
  readonly onOption: (name: string, value: string) => void;
}

/** The values of a tool's own options among the parameters of the address. */
export function chosenOptions(
  options: readonly OptionInfo[],
  params: Readonly<Record<string, string>>,
): Record<string, string> {
  const chosen: Record<string, string> = {};
  for (const { name } of options) {
    if (params[name]) chosen[name] = params[name];
  }
  return chosen;
}

export function Options({ options, opens, params, onOption }: OptionsProps) {
  return (
    <form class="options" aria-label="Options" onSubmit={(event) => event.preventDefault()}>
      {options.map((option) => {
        const fallback =
          opens[option.name] ?? (option.default === null ? "" : String(option.default));
        const value = params[option.name] ?? fallback;
        const onValue = (next: string) => onOption(option.name, next === fallback ? "" : next);
        return <OptionField key={option.name} option={option} value={value} onValue={onValue} />;
      })}
    </form>
  );
}

interface OptionFieldProps {
  readonly option: OptionInfo;
  readonly value: string;
  readonly onValue: (value: string) => void;
}

function OptionField({ option, value, onValue }: OptionFieldProps) {
  const { unit } = fieldMeaning(option.name);
  const label = option.label + (unit ? ` (${unit})` : "");
  if (option.choices.length > 0) {
    return (
      <Segments
        label={label}
        choices={option.choices}
        value={value}
        onValue={onValue}
        help={option.help}
      />
    );
  }
  if (option.type === "bool") {
    return (
      <label class="check" title={option.help}>
        <input
          type="checkbox"
          checked={value === "true"}
          onChange={(event) => onValue(event.currentTarget.checked ? "true" : "false")}
        />
        {label}
      </label>
    );
  }
  return (
    <label class="option-text" title={option.help}>
      {label}
      <input
        class="field"
        inputMode={option.type === "str" ? "text" : "decimal"}
        value={value}
        onChange={(event) => onValue(event.currentTarget.value)}
      />
    </label>
  );
}
