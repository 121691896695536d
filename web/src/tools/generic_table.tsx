/** A table of a result, with the chart that its columns allow. */

import type { ColumnarTable } from "../base/columns.ts";
import { fieldLabel } from "../base/fields.ts";
import { duration, isTimeUnit, plural, significant } from "../base/format.ts";
import { cellText } from "../engine/cells.ts";
import { arrange, PLAIN_VIEW } from "../engine/gridview.ts";
import { columnOf, type Table } from "../engine/table.ts";
import { ChartFrame } from "../widgets/chart_frame.tsx";
import { Grid } from "../widgets/grid.tsx";
import { TopBars } from "../widgets/top_bars.tsx";
import { type ToolPageProps, useTable } from "./page.ts";
import { isStepTable, StepSection } from "./step_section.tsx";

export interface TableFieldProps extends ToolPageProps {
  readonly name: string;
  readonly source: ColumnarTable;
}

export function TableField(props: TableFieldProps) {
  const { name, source, tool } = props;
  const binding = useTable(props, name, source);
  const title = fieldLabel(name);
  if (source.rows === 0) {
    return (
      <section>
        <h2>{title}</h2>
        <p class="quiet">No rows for this profile with these options.</p>
      </section>
    );
  }
  if (isStepTable(source)) {
    const median = medianOf(binding.table, "step_time_ms");
    return <StepSection {...props} field={name} medianMs={median} />;
  }
  return (
    <>
      <LargestRows table={binding.table} title={title} file={`${tool.id} ${name}`} />
      <section>
        <header class="section-head">
          <h2>{title}</h2>
          <p class="quiet">{plural(source.rows, "row")}</p>
        </header>
        <Grid {...binding} label={title} />
      </section>
    </>
  );
}

function medianOf(table: Table, name: string): number | null {
  const column = columnOf(table, name);
  if (column?.type !== "number") return null;
  const sorted = column.values.filter((value) => !Number.isNaN(value)).sort();
  return sorted[sorted.length >> 1] ?? null;
}

const MOST_BARS = 10;

function timeText(value: number, unit: string): string {
  return isTimeUnit(unit) ? duration(value, unit) : `${significant(value)} ${unit}`;
}

/** A chart of the rows with the most of the time the table is sorted by, if it has names. */
function LargestRows({ table, title, file }: { table: Table; title: string; file: string }) {
  const size = table.columns.find(
    (column) => column.meta.kind === "time" && column.meta.sort === "desc",
  );
  const label = table.columns.find((column) => column.meta.kind === "name");
  if (size?.type !== "number" || !label) return null;
  const order = { column: size.meta.name, descending: true };
  const { rows } = arrange(table, { ...PLAIN_VIEW, order });
  const largest = rows.subarray(0, MOST_BARS).filter((row) => (size.values[row] as number) > 0);
  const bars = Array.from(largest, (row) => ({
    label: cellText(label, row),
    value: size.values[row] as number,
    text: timeText(size.values[row] as number, size.meta.unit),
  }));
  if (bars.length < 2) return null;
  const heading = `${title} by ${size.meta.label.toLowerCase()}`;
  return (
    <ChartFrame title={heading} note={`the ${bars.length} largest`} file={file}>
      <TopBars bars={bars} label={heading} />
    </ChartFrame>
  );
}
