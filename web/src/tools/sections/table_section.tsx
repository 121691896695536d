/** A table of a result under its heading; where it is empty, what that means. */

import type { ComponentChildren } from "preact";
import type { AnyTable } from "../../base/columns.ts";
import { Grid } from "../../widgets/grid/grid.tsx";
import { type ToolPageProps, useFirst, useTable, useWithoutConstants } from "./tool_page.tsx";

export interface TableSectionProps extends ToolPageProps {
  readonly field: string;
  readonly title: string;
  readonly note?: string;
  /** Said where the table is empty; without it the section is left out then. */
  readonly none?: string;
  /** What a row is, one and several. */
  readonly noun?: readonly [string, string];
  readonly source: AnyTable;
  /** The columns that come before the others, and those hidden until asked for. */
  readonly first?: readonly string[];
  readonly hidden?: readonly string[];
  /** The table that the page is about: more rows in sight, and sums below. */
  readonly main?: boolean;
  readonly sums?: boolean;
  /** Shows columns that say the same in each row, too. */
  readonly constants?: boolean;
  /** Names the grid; the title by default. */
  readonly label?: string;
  readonly controls?: ComponentChildren;
}

const NO_NAMES: readonly string[] = [];
const SHORT = { maxRows: 12, sums: false };

export function TableSection(props: TableSectionProps) {
  const { field, title, note = "", none, noun, source, main, sums, controls } = props;
  const { first = NO_NAMES, hidden = NO_NAMES, constants = false, label = title } = props;
  const table = useFirst(useTable(props, field, source), first, hidden);
  const quieter = useWithoutConstants(table);
  const { binding, said } = constants ? { binding: table, said: "" } : quieter;
  if (source.rows === 0 && none === undefined) return null;
  return (
    <section>
      <header class="section-head">
        <h2>{title}</h2>
        <p class="quiet">
          {source.rows > 0
            ? [said ? note.replace(/\.$/, "") : note, said].filter(Boolean).join(". ")
            : none}
        </p>
        {controls && <div class="section-controls">{controls}</div>}
      </header>
      {source.rows > 0 && (
        <Grid
          {...binding}
          {...(noun ? { noun } : {})}
          {...(main ? {} : { ...SHORT, plain: source.rows < 4 })}
          {...(sums === undefined ? {} : { sums })}
          label={label}
        />
      )}
    </section>
  );
}
