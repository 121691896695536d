/** Every value of one row under its full name, beside the table. */

import type { ComponentChildren } from "preact";
import { fullText, headingText } from "../../engine/table/cell_text.ts";
import type { Table } from "../../engine/table/table.ts";
import { Drawer } from "../overlay/drawer.tsx";

export interface RowDetailsProps {
  readonly table: Table;
  readonly row: number;
  readonly onClose: () => void;
  /** Where the row leads, below its name. */
  readonly children?: ComponentChildren;
}

export function RowDetails({ table, row, onClose, children }: RowDetailsProps) {
  const name = table.columns.find((column) => column.meta.kind === "name");
  const rest = table.columns.filter((column) => column !== name && column.available > 0);
  return (
    <Drawer
      label="Selected row"
      title={name ? fullText(name, row) : "Selected row"}
      onClose={onClose}
    >
      {children}
      <dl class="drawer-facts">
        {rest.map((column) => (
          <div key={column.meta.name}>
            <dt>{headingText(column)}</dt>
            <dd>{fullText(column, row)}</dd>
          </div>
        ))}
      </dl>
    </Drawer>
  );
}
