/** The bar above a grid: text filter, conditions, columns, copy and export. */

import { useEffect, useState } from "preact/hooks";
import { count } from "../../base/format.ts";
import { isShown } from "../../engine/table/grid_view.ts";
import { columnOf } from "../../engine/table/table.ts";
import { copyToClipboard } from "../clipboard.ts";
import { Popover } from "../overlay/popover.tsx";
import { ConditionChips, ConditionForm } from "./filter_form.tsx";
import type { GridProps } from "./props.ts";

export interface GridToolbarProps extends GridProps {
  readonly shownRows: number;
  readonly pickedRows: number;
  /** The picked rows, or all shown ones, as tab-separated text. */
  readonly copyText: () => string;
}

const TYPING_PAUSE_MS = 120;

export function GridToolbar(props: GridToolbarProps) {
  const { table, view, onView, label, noun = ["row", "rows"], shownRows, pickedRows } = props;
  const all = shownRows === table.rows;
  return (
    <div class="grid-toolbar">
      <QueryField
        label={`Filter ${label.toLowerCase()}`}
        query={view.query}
        onQuery={(query) => onView({ ...view, query })}
      />
      <Popover label="Condition" name="Add a condition">
        {(close) => (
          <ConditionForm
            table={table}
            onAdd={(condition) => {
              close();
              onView({ ...view, conditions: [...view.conditions, condition] });
            }}
          />
        )}
      </Popover>
      <ConditionChips
        conditions={view.conditions}
        labelOf={(name) => columnOf(table, name)?.meta.label ?? name}
        onRemove={(index) =>
          onView({ ...view, conditions: view.conditions.filter((_, i) => i !== index) })
        }
      />
      <span class="grid-count quiet" role="status">
        {all ? "" : `${count(shownRows)} of `}
        {count(table.rows)} {table.rows === 1 ? noun[0] : noun[1]}
        {pickedRows > 1 ? `, ${count(pickedRows)} selected` : ""}
      </span>
      <ColumnsMenu {...props} />
      <ExportMenu {...props} />
    </div>
  );
}

interface QueryFieldProps {
  readonly label: string;
  readonly query: string;
  readonly onQuery: (query: string) => void;
}

/** Filters while a person types, but not at each key of a fast typist. */
function QueryField({ label, query, onQuery }: QueryFieldProps) {
  const [typed, setTyped] = useState(query);
  useEffect(() => setTyped(query), [query]);
  useEffect(() => {
    if (typed === query) return;
    const timer = setTimeout(() => onQuery(typed), TYPING_PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed, query, onQuery]);
  return (
    <input
      class="field grid-query"
      type="search"
      data-focus="filter"
      aria-label={label}
      placeholder="Filter: text or /regex/"
      value={typed}
      onInput={(event) => setTyped(event.currentTarget.value)}
    />
  );
}

function ColumnsMenu({ table, view, onView }: GridProps) {
  const hidden = table.columns.filter((column) => !isShown(column, view)).length;
  return (
    <Popover label={hidden > 0 ? `Columns (${hidden} hidden)` : "Columns"} align="right">
      {() => (
        <fieldset class="menu">
          <legend class="quiet">Columns to show</legend>
          {table.columns.map((column) => (
            <label key={column.meta.name} class="check" title={column.meta.help}>
              <input
                type="checkbox"
                checked={isShown(column, view)}
                onChange={(event) => {
                  const shown = { ...view.shown, [column.meta.name]: event.currentTarget.checked };
                  onView({ ...view, shown });
                }}
              />
              {column.meta.label}
              {column.available === 0 && <span class="quiet"> no values</span>}
            </label>
          ))}
        </fieldset>
      )}
    </Popover>
  );
}

const FORMATS = [
  ["csv", "CSV, all rows"],
  ["json", "JSON, all rows"],
  ["parquet", "Parquet, all rows"],
] as const;

function ExportMenu({ exportHref, pickedRows, shownRows, copyText }: GridToolbarProps) {
  const [copied, setCopied] = useState(false);
  const copyLabel =
    pickedRows > 0 ? `Copy ${count(pickedRows)} selected` : `Copy ${count(shownRows)} shown`;
  return (
    <Popover label="Export" align="right">
      {(close) => (
        <div class="menu">
          <button
            type="button"
            class="menu-item"
            onClick={() => {
              void copyToClipboard(copyText()).then(setCopied);
            }}
          >
            {copied ? "Copied" : `${copyLabel} (TSV)`}
          </button>
          {exportHref &&
            FORMATS.map(([format, text]) => (
              <a key={format} class="menu-item" href={exportHref(format)} download onClick={close}>
                {text}
              </a>
            ))}
        </div>
      )}
    </Popover>
  );
}
