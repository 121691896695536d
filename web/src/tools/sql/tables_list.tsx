/** The tables that queries name, with the meaning of every column. */

import type { QueryTableInfo } from "../../api/types.gen.ts";

interface TablesListProps {
  readonly tables: readonly QueryTableInfo[];
  /** A name was chosen, to be put into the query. */
  readonly onChoose: (name: string) => void;
}

export function TablesList({ tables, onChoose }: TablesListProps) {
  return (
    <div class="sql-tables">
      <h2>Tables</h2>
      {tables.map((table) => (
        <details key={table.name}>
          <summary>
            <code>{table.name}</code> <span class="quiet">{table.meaning}</span>
          </summary>
          <dl>
            {table.columns.map((column) => (
              <div key={column.name}>
                <dt>
                  <button type="button" class="tl-link" onClick={() => onChoose(column.name)}>
                    <code>{column.name}</code>
                  </button>
                </dt>
                <dd class="quiet">
                  {column.meaning} <span class="sql-type">{column.type}</span>
                </dd>
              </div>
            ))}
          </dl>
        </details>
      ))}
    </div>
  );
}
