/** A table of a result, with the chart that its columns allow. */

import { useMemo } from "preact/hooks";
import type { ColumnarTable } from "../../base/columns.ts";
import { fieldLabel } from "../../base/fields.ts";
import { duration, isTimeUnit, significant } from "../../base/format.ts";
import { cellText } from "../../engine/table/cell_text.ts";
import { arrange, PLAIN_VIEW } from "../../engine/table/grid_view.ts";
import { type Column, columnOf, type Table } from "../../engine/table/table.ts";
import { ChartFrame } from "../../widgets/charts/chart_frame.tsx";
import { TopBars } from "../../widgets/charts/top_bars.tsx";
import { Grid } from "../../widgets/grid/grid.tsx";
import { whyEmpty } from "../sections/diagnostics.tsx";
import { isStepTable, StepSection } from "../sections/step_section.tsx";
import {
  type ToolPageProps,
  useFirst,
  useTable,
  useWithoutConstants,
} from "../sections/tool_page.tsx";

/** Columns that a table is about, where its schema begins with others. */
const FIRST: Readonly<Record<string, string>> = {
  "framework_op_stats.ops":
    "type operation self_time_us device_self_time_frac host_self_time_frac occurrences",
  "kernel_stats.kernels":
    "name kernel_class op_name total_duration_us share_frac occurrences avg_duration_us",
  "op_profile.nodes":
    "name time_us time_frac roofline_efficiency_frac bound_by utilisation_frac hbm_bw_frac wasted_us wasted_frac",
  "module_tree.modules": "module device_ms device_frac forward_ms backward_ms host_ms calls",
  "hlo_stats.ops": "hlo_op framework_op self_time_us self_time_frac bound_by program category",
};

export function firstColumns(tool: string, field: string): readonly string[] {
  return FIRST[`${tool}.${field}`]?.split(" ") ?? [];
}

export interface TableFieldProps extends ToolPageProps {
  /** Its name among the tool's tables. */
  readonly field: string;
  /** Its name in the address. */
  readonly at: string;
  readonly source: ColumnarTable;
}

export function TableField(props: TableFieldProps) {
  const { field, at, source, tool, result } = props;
  const names = useMemo(() => firstColumns(tool.id, field), [tool, field]);
  const ordered = useFirst(useTable(props, field, source, at), names);
  const { binding, said } = useWithoutConstants(ordered);
  const title = fieldLabel(tool.labels, field.slice(field.lastIndexOf(".") + 1));
  // The server exports tables by name; one of several within a list has no name of its own.
  const exportHref = at === field ? binding.exportHref : undefined;
  if (source.rows === 0) {
    return (
      <section>
        <h2>{title}</h2>
        <p class="quiet">{whyEmpty(result, field) ?? "No rows for these options."}</p>
      </section>
    );
  }
  if (isStepTable(source)) {
    const median = medianOf(binding.table, "step_time_ms");
    return <StepSection {...props} medianMs={median} />;
  }
  return (
    <>
      <LargestRows table={binding.table} title={title} file={`${tool.id} ${field}`} />
      <section>
        <header class="section-head">
          <h2>{title}</h2>
          {said && <p class="quiet">{said}</p>}
        </header>
        <Grid {...binding} exportHref={exportHref} label={title} />
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

function isShare({ meta }: Column): boolean {
  return meta.is_share === true;
}

function wordsIn(column: Column): number {
  return column.type === "text" ? column.words.length : 0;
}

function timeText(value: number, unit: string): string {
  return isTimeUnit(unit) ? duration(value, unit) : `${significant(value)} ${unit}`;
}

/** A chart of the largest rows by the time that sorts them; shares are bars in the table itself. */
function LargestRows({ table, title, file }: { table: Table; title: string; file: string }) {
  const size = table.columns.find(
    (column) => column.meta.kind === "time" && column.meta.sort === "desc",
  );
  // Of several columns of names (host, op) the one that tells most rows apart.
  const label = table.columns
    .filter((column) => column.type === "text" && column.meta.kind === "name")
    .sort((a, b) => wordsIn(b) - wordsIn(a))[0];
  if (size?.type !== "number" || !label || table.columns.some(isShare)) return null;
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
