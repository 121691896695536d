/** Heading, rows and sums of a grid. */

import { isNumeric } from "../../base/columns.ts";
import { MISSING } from "../../base/format.ts";
import { cellText, fullText, headingText, sumText } from "../../engine/table/cell_text.ts";
import { hasBar, type Measure } from "../../engine/table/column_widths.ts";
import type { Order } from "../../engine/table/grid_view.ts";
import type { Column, NumberColumn } from "../../engine/table/table.ts";
import { LongName } from "../long_name.tsx";
import { textWidth } from "../text_width.ts";

/** Widths as grids set their texts. */
export const measureCell: Measure = (text, as) =>
  textWidth(text, as === "cell" ? "normal" : "bold", as === "heading" ? 12 : 13);

/** What fits on upright paper. */
const PAPER_PX = 680;

/** Class of a table's inside, by the px that its columns need. */
export function innerClass(needed: number): string {
  return needed > PAPER_PX ? "grid-inner wide" : "grid-inner";
}

/** Classes of a cell; the first column of names stays in view as the others scroll sideways. */
export function cellClass(columns: readonly Column[], column: Column): string {
  const pinned = column === columns.find((each) => each.meta.kind === "name");
  return `cell${isNumeric(column.meta.kind) ? " numeric" : ""}${pinned ? " pinned" : ""}`;
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
              class={cellClass(columns, column)}
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
        <GridCell
          key={column.meta.name}
          column={column}
          row={row}
          index={index}
          className={cellClass(columns, column)}
        />
      ))}
    </div>
  );
}

export interface GridCellProps {
  readonly column: Column;
  readonly row: number;
  readonly index: number;
  readonly className: string;
}

export function GridCell({ column, row, index, className }: GridCellProps) {
  const text = cellText(column, row);
  const long = column.meta.kind === "name" || column.meta.kind === "text";
  return (
    <div
      role="gridcell"
      aria-colindex={index + 1}
      class={isNothing(column, text) ? `${className} faint` : className}
      title={long ? fullText(column, row) : undefined}
    >
      {column.type === "number" && hasBar(column) && (
        <InlineBar column={column} value={column.values[row] as number} />
      )}
      {column.meta.kind === "name" ? (
        <LongName name={text} />
      ) : (
        <span class="cell-text">{text}</span>
      )}
    </div>
  );
}

/** What is not there, or none of it; the name of something may be 0. */
function isNothing({ meta }: Column, text: string): boolean {
  return text === MISSING || (text === "0" && meta.kind !== "rank");
}

function InlineBar({ column, value }: { column: NumberColumn; value: number }) {
  // Shares are compared with each other, so the longest bar is the largest; other ratios (busy,
  // utilisation) are of something, and a full bar means all of it.
  const whole = column.meta.is_share ? column.max : 1;
  const share = Number.isNaN(value) || whole <= 0 ? 0 : Math.max(0, value / whole);
  return (
    <span class="inline-bar" aria-hidden="true">
      <span style={{ width: `${(Math.min(1, share) * 100).toFixed(1)}%` }} />
    </span>
  );
}

export function GridFoot({ columns, rows }: { columns: readonly Column[]; rows: Uint32Array }) {
  const named =
    columns.find((column) => column.meta.kind === "name") ??
    columns.find((column) => sumText(column, rows) === "");
  return (
    <div role="rowgroup" class="grid-foot">
      <div role="row" class="grid-row">
        {columns.map((column, index) => (
          <div
            key={column.meta.name}
            role="gridcell"
            aria-colindex={index + 1}
            class={cellClass(columns, column)}
          >
            <span class="cell-text">{column === named ? "Sum" : sumText(column, rows)}</span>
          </div>
        ))}
      </div>
    </div>
  );
}
