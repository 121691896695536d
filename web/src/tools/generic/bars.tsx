/** Rows of a table, or records, as bars; and as a table. */

import { useMemo } from "preact/hooks";
import { rowsWhere } from "../../api/columns.ts";
import type { BarChart } from "../../api/types.gen.ts";
import type { ColumnarTable } from "../../base/columns.ts";
import { fieldLabel, fieldMeaning } from "../../base/fields.ts";
import { withUnits } from "../../base/text.ts";
import { filled, type ValueOf } from "../../engine/page/template.ts";
import { ChartFrame } from "../../widgets/charts/chart_frame.tsx";
import { TopBars } from "../../widgets/charts/top_bars.tsx";
import { Grid } from "../../widgets/grid/grid.tsx";
import { useFirst, useTable, useWithoutConstants } from "../sections/tool_page.tsx";
import { chosenRow } from "./course.tsx";
import { type PanelProps, tableAt, Unfilled } from "./panel.tsx";

const MOST_BARS = 16;
const EMPTY: ColumnarTable = { rows: 0, columns: {} };

export function Bars(props: PanelProps<BarChart>) {
  const { panel, tool, result, values, params } = props;
  const { field, first, noun } = panel;
  const live = panel.live.length > 0;
  const whole = tableAt(values, field) ?? EMPTY;
  const chosen = live ? chosenRow(panel.points, values, params) : null;
  const source = useMemo(() => {
    if (!live || !chosen) return whole;
    const [from, to] = panel.live.map((name) => whole.columns[name] ?? []);
    return rowsWhere(whole, (row) => isLive(from?.[row], to?.[row], chosen.x));
  }, [whole, live, chosen?.x]);
  const at = live ? `${field}.live` : field;
  const { binding, said } = useWithoutConstants(
    useFirst(useTable(props, field, source, at), first),
  );
  const bars = largest(props, source.columns, source.rows);
  const extra: Readonly<Record<string, unknown>> = {
    count: source.rows,
    bars: bars.length,
    chosen: chosen?.x,
    at_peak: chosen !== null && chosen.x === values("peak_step"),
    ...chosen?.before,
  };
  const text = (template: string) =>
    withUnits(filled(template, (path) => extra[path] ?? values(path), tool.words) ?? "");
  const title = text(panel.title) || fieldLabel(tool.labels, field);
  if (bars.length < (panel.several ? 2 : 1) && !live) {
    return <Unfilled title={title} none={text(panel.none)} />;
  }
  return (
    <ChartFrame
      title={title}
      note={text(panel.note)}
      file={`${result.session} ${field}`}
      table={() => (
        <>
          {said && <p class="quiet">{said}</p>}
          <Grid
            {...binding}
            noun={noun as [string, string]}
            label={title}
            sums={false}
            maxRows={14}
          />
        </>
      )}
    >
      {bars.length > 0 ? (
        <TopBars
          bars={bars}
          label={title}
          {...(fieldMeaning(panel.value).kind === "ratio" ? { full: 1 } : {})}
        />
      ) : (
        <p class="quiet">{text(panel.none)}</p>
      )}
    </ChartFrame>
  );
}

/** Whether what is made at one point and freed at another is there before a third; -1: always. */
function isLive(first: unknown, last: unknown, point: number): boolean {
  const made = Number(first);
  return made < 0 || (made < point && point <= Number(last));
}

/** The rows that have any of the value, the largest first where there are many. */
function largest(
  { panel, tool }: PanelProps<BarChart>,
  columns: Readonly<Record<string, readonly unknown[]>>,
  rows: number,
) {
  const size = columns[panel.value] ?? [];
  const order = Array.from({ length: rows }, (_, row) => row).filter(
    (row) => Number(size[row]) > 0,
  );
  if (order.length > MOST_BARS) order.sort((a, b) => Number(size[b]) - Number(size[a]));
  return order.slice(0, MOST_BARS).map((row) => {
    const valueAt: ValueOf = (path) => columns[path]?.[row];
    const text = (template: string) => filled(template, valueAt, tool.words) ?? "";
    const more = text(panel.tip);
    return {
      label: text(panel.label) || "(no name)",
      value: Number(size[row]),
      text: text(panel.text),
      ...(more ? { more } : {}),
    };
  });
}
