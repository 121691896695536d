/** Every value of one row under its full name, for names too long for a cell. */

import { cellText, headingText } from "../../engine/table/cell_text.ts";
import type { Table } from "../../engine/table/table.ts";

export interface RowDetailsProps {
  readonly table: Table;
  readonly row: number;
  readonly onClose: () => void;
}

export function RowDetails({ table, row, onClose }: RowDetailsProps) {
  const name = table.columns.find((column) => column.meta.kind === "name");
  const rest = table.columns.filter((column) => column !== name && column.available > 0);
  return (
    <section class="row-details" aria-label="Selected row">
      <header>
        <h3>{name ? cellText(name, row) : "Selected row"}</h3>
        <button type="button" class="button" onClick={onClose}>
          Close
        </button>
      </header>
      <dl class="facts">
        {rest.map((column) => (
          <div key={column.meta.name}>
            <dt>{headingText(column)}</dt>
            <dd>{cellText(column, row)}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
