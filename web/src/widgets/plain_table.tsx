/** A table of a few rows that needs no sorting; the first cell of a row names it. */

import type { ComponentChildren } from "preact";

export interface PlainTableProps {
  readonly heads: readonly ComponentChildren[];
  readonly rows: readonly (readonly ComponentChildren[])[];
  /** Whether a column is of numbers, which are aligned at the right. */
  readonly isNumeric?: (column: number) => boolean;
  /** Whether the rows have names. */
  readonly named?: boolean;
  readonly kind?: string;
}

export function PlainTable(props: PlainTableProps) {
  const { heads, rows, isNumeric = () => false, named = true, kind = "" } = props;
  const classOf = (column: number) => (isNumeric(column) ? "numeric" : "");
  return (
    <table class={`plain-table ${kind}`}>
      <thead>
        <tr>
          {heads.map((head, column) => (
            <th key={column} scope="col" class={classOf(column)}>
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((cells, row) => (
          <tr key={row}>
            {cells.map((cell, column) =>
              named && column === 0 ? (
                <th key={column} scope="row">
                  {cell}
                </th>
              ) : (
                <td key={column} class={classOf(column)}>
                  {cell}
                </td>
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
