/** Heading, rows and sums of a grid. */

import { isNumeric } from "../base/columns.ts";
import { MISSING } from "../base/format.ts";
import { cellText, headingText, sumText } from "../engine/cells.ts";
import type { Order } from "../engine/gridview.ts";
import type { Column, NumberColumn } from "../engine/table.ts";
import { hasBar } from "../engine/widths.ts";

function cellClass(column: Column): string {
  return `cell ${isNumeric(column.meta.kind) ? "numeric" : ""} kind-${column.meta.kind}`;
}

export interface GridHeadProps {
  readonly columns: readonly Column[];
  readonly order: Order | null;
  readonly onSort: (column: string) => void;
}

export function GridHead({ columns, order, onSort }: GridHeadProps) {
  return (
    <div role="rowgroup" class="grid-head">
      <div role="row" aria-rowindex={1} class="grid-row">
        {columns.map((column, index) => {
          const sorted = order?.column === column.meta.name;
          const direction = order?.descending ? "descending" : "ascending";
          return (
            <div
              key={column.meta.name}
              role="columnheader"
              aria-colindex={index + 1}
              aria-sort={sorted ? direction : "none"}
              class={cellClass(column)}
            >
              <button
                type="button"
                title={column.meta.help || undefined}
                onClick={() => onSort(column.meta.name)}
              >
                <span>{headingText(column)}</span>
                {sorted && <span class={`sort-mark ${direction}`} aria-hidden="true" />}
              </button>
            </div>
          );
        })}
      </div>
    </div>
  );
}

export type PickMode = "alone" | "range" | "toggle";

export interface GridRowProps {
  readonly id: string;
  readonly columns: readonly Column[];
  readonly row: number;
  readonly place: number;
  readonly picked: boolean;
  readonly active: boolean;
  readonly onPick: (mode: PickMode) => void;
}

export function GridRow({ id, columns, row, place, picked, active, onPick }: GridRowProps) {
  return (
    <div
      id={id}
      role="row"
      aria-rowindex={place + 2}
      aria-selected={picked}
      class={`grid-row${active ? " active" : ""}`}
      onClick={(event) => {
        onPick(event.shiftKey ? "range" : event.ctrlKey || event.metaKey ? "toggle" : "alone");
      }}
    >
      {columns.map((column, index) => (
        <GridCell key={column.meta.name} column={column} row={row} index={index} />
      ))}
    </div>
  );
}

function GridCell({ column, row, index }: { column: Column; row: number; index: number }) {
  const text = cellText(column, row);
  const long = column.meta.kind === "name" || column.meta.kind === "text";
  return (
    <div
      role="gridcell"
      aria-colindex={index + 1}
      class={text === MISSING ? `${cellClass(column)} missing` : cellClass(column)}
      title={long ? text : undefined}
    >
      {column.type === "number" && hasBar(column) && (
        <InlineBar column={column} value={column.values[row] as number} />
      )}
      <span class="cell-text">{text}</span>
    </div>
  );
}

function InlineBar({ column, value }: { column: NumberColumn; value: number }) {
  // Shares are compared with each other, so the longest bar is the largest share of the column.
  const share = Number.isNaN(value) || column.max <= 0 ? 0 : Math.max(0, value / column.max);
  return (
    <span class="inline-bar" aria-hidden="true">
      <span style={{ width: `${(Math.min(1, share) * 100).toFixed(1)}%` }} />
    </span>
  );
}

export function GridFoot({ columns, rows }: { columns: readonly Column[]; rows: Uint32Array }) {
  return (
    <div role="rowgroup" class="grid-foot">
      <div role="row" class="grid-row">
        {columns.map((column, index) => (
          <div
            key={column.meta.name}
            role="gridcell"
            aria-colindex={index + 1}
            class={cellClass(column)}
          >
            <span class="cell-text">
              {column.meta.kind === "name" ? "Sum of the rows shown" : sumText(column, rows)}
            </span>
          </div>
        ))}
      </div>
    </div>
  );
}
