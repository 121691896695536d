/** A table of a result as a chart, with its rows on demand. */

import type { AnyTable } from "../../base/columns.ts";
import { TableChart } from "../../widgets/charts/table_chart.tsx";
import { Grid } from "../../widgets/grid/grid.tsx";
import { type ToolPageProps, useTable } from "./tool_page.tsx";

interface ChartSectionProps extends ToolPageProps {
  readonly field: string;
  readonly title: string;
  readonly note: string;
  readonly source: AnyTable;
  /** A value holds until the next row. */
  readonly stepwise?: boolean;
}

export function ChartSection(props: ChartSectionProps) {
  const { field, title, note, source, stepwise = false, result } = props;
  const binding = useTable(props, field, source);
  return (
    <TableChart
      {...{ title, note, stepwise }}
      table={binding.table}
      file={`${result.session} ${title}`}
      rows={() => <Grid {...binding} label={title} maxRows={12} sums={false} />}
    />
  );
}
