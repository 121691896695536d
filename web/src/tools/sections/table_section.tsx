/** A table of a result under its heading; where it is empty, what that means. */

import type { AnyTable } from "../../base/columns.ts";
import { Grid } from "../../widgets/grid/grid.tsx";
import { type ToolPageProps, useTable, useWithoutConstants } from "./tool_page.tsx";

export interface TableSectionProps extends ToolPageProps {
  readonly field: string;
  readonly title: string;
  readonly note: string;
  /** Said where the table is empty. */
  readonly none: string;
  /** What a row is, one and several. */
  readonly noun?: readonly [string, string];
  readonly source: AnyTable;
}

export function TableSection(props: TableSectionProps) {
  const { field, title, note, none, noun, source } = props;
  const { binding, said } = useWithoutConstants(useTable(props, field, source));
  const rows = noun ? { noun } : {};
  return (
    <section>
      <header class="section-head">
        <h2>{title}</h2>
        <p class="quiet">{source.rows > 0 ? [note, said].filter(Boolean).join(". ") : none}</p>
      </header>
      {source.rows > 0 && (
        <Grid
          {...binding}
          {...rows}
          label={title}
          maxRows={12}
          plain={source.rows < 4}
          sums={false}
        />
      )}
    </section>
  );
}
