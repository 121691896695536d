/** What a grid is given. */

import type { ComponentChildren } from "preact";
import type { GridView } from "../../engine/table/grid_view.ts";
import type { Table } from "../../engine/table/table.ts";

export type ExportHref = (format: "csv" | "json" | "parquet") => string;

export interface GridProps {
  readonly table: Table;
  readonly view: GridView;
  readonly onView: (view: GridView) => void;
  /** Names the table, for assistive technology. */
  readonly label: string;
  /** What a row is: ["op", "ops"]. */
  readonly noun?: readonly [string, string];
  readonly exportHref?: ExportHref | undefined;
  /** Where a row leads, shown in its details. */
  readonly details?: ((row: number) => ComponentChildren) | undefined;
  /** Rows in view at most before the table scrolls. */
  readonly maxRows?: number;
  /** Whether sums are below; they do where rows are not contained in each other. */
  readonly sums?: boolean;
  /** Without the bar above and the sums below, for a handful of rows. */
  readonly plain?: boolean;
}
