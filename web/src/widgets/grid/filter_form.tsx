/** Conditions on single columns: the form that adds one, and the chips that show them. */

import { useState } from "preact/hooks";
import { shownUnit } from "../../engine/table/cell_text.ts";
import { withUnit } from "../../engine/table/column_unit.ts";
import type { Condition, Relation } from "../../engine/table/filter.ts";
import { columnOf, type Table } from "../../engine/table/table.ts";

const WORDS: Readonly<Record<Relation, string>> = {
  ">=": "≥",
  "<=": "≤",
  "=": "is",
  "~": "contains",
};

const SUGGESTED_WORDS = 200;

export interface ConditionFormProps {
  readonly table: Table;
  readonly onAdd: (condition: Condition) => void;
}

export function ConditionForm({ table, onAdd }: ConditionFormProps) {
  const columns = table.columns
    .filter((column) => column.available > 0)
    .map((column) => ({ meta: column.meta, unit: shownUnit(column) }));
  const sorted = columns.find((column) => column.meta.sort !== "") ?? columns[0];
  const [name, setName] = useState(sorted?.meta.name ?? "");
  const column = columnOf(table, name);
  const relations: readonly Relation[] = column?.type === "number" ? [">=", "<=", "="] : ["~", "="];
  const [chosen, setChosen] = useState<Relation>(">=");
  const relation = relations.includes(chosen) ? chosen : (relations[0] as Relation);
  const [value, setValue] = useState("");
  const bound = (typed: string) =>
    column?.type === "number" ? withUnit(typed, column.meta, column.shown) : typed.trim();
  const words =
    column?.type === "text" && column.words.length <= SUGGESTED_WORDS ? column.words : [];
  return (
    <form
      class="condition-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (value.trim() !== "") onAdd({ column: name, relation, value: bound(value) });
      }}
    >
      <label>
        Column
        <select class="field" value={name} onChange={(event) => setName(event.currentTarget.value)}>
          {columns.map(({ meta, unit }) => (
            <option key={meta.name} value={meta.name}>
              {unit ? `${meta.label} (${unit})` : meta.label}
            </option>
          ))}
        </select>
      </label>
      <label>
        Relation
        <select
          class="field"
          value={relation}
          onChange={(event) => setChosen(event.currentTarget.value as Relation)}
        >
          {relations.map((each) => (
            <option key={each} value={each}>
              {WORDS[each]}
            </option>
          ))}
        </select>
      </label>
      <label>
        Value
        <input
          class="field"
          list={words.length > 0 ? "condition-words" : undefined}
          inputMode={column?.type === "number" ? "decimal" : "text"}
          value={value}
          onInput={(event) => setValue(event.currentTarget.value)}
        />
      </label>
      {words.length > 0 && (
        <datalist id="condition-words">
          {words.map((word) => (
            <option key={word} value={word} />
          ))}
        </datalist>
      )}
      <button type="submit" class="button" disabled={value.trim() === ""}>
        Add
      </button>
    </form>
  );
}

export interface ConditionChipsProps {
  readonly conditions: readonly Condition[];
  readonly labelOf: (column: string) => string;
  readonly onRemove: (index: number) => void;
}

export function ConditionChips({ conditions, labelOf, onRemove }: ConditionChipsProps) {
  return (
    <>
      {conditions.map((condition, index) => {
        const text = `${labelOf(condition.column)} ${WORDS[condition.relation]} ${condition.value}`;
        return (
          <button
            key={`${text}-${index}`}
            type="button"
            class="chip"
            aria-label={`Remove condition: ${text}`}
            onClick={() => onRemove(index)}
          >
            {text} <span aria-hidden="true">×</span>
          </button>
        );
      })}
    </>
  );
}
