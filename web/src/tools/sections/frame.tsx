/** What most tools' pages are: a headline, figures, charts with their tables, and diagnostics. */

import type { ComponentChildren } from "preact";
import type { ResultBody } from "../../api/types.gen.ts";
import type { AnyTable } from "../../base/columns.ts";
import { withUnits } from "../../base/text.ts";
import { ChartFrame } from "../../widgets/charts/chart_frame.tsx";
import { type TopBar, TopBars } from "../../widgets/charts/top_bars.tsx";
import { type Fact, Figures } from "../../widgets/facts.tsx";
import { Grid } from "../../widgets/grid/grid.tsx";
import { Diagnostics } from "./diagnostics.tsx";
import { type ToolPageProps, useTable } from "./tool_page.tsx";

interface ToolFrameProps {
  readonly headline: string;
  readonly figures: readonly Fact[];
  readonly result: ResultBody;
  /** Beside the headline. */
  readonly picker?: ComponentChildren;
  readonly children: ComponentChildren;
}

export function ToolFrame({ headline, figures, result, picker, children }: ToolFrameProps) {
  return (
    <div class="tool-page">
      <header class="answer">
        <h2>{withUnits(headline)}</h2>
        {picker}
      </header>
      <Figures figures={figures} />
      {children}
      <Diagnostics diagnostics={result.diagnostics} />
    </div>
  );
}

interface BarSectionProps extends ToolPageProps {
  /** The table behind the chart, by its name among the tool's tables. */
  readonly field: string;
  readonly source: AnyTable;
  readonly title: string;
  readonly note: string;
  readonly noun?: readonly [string, string];
  readonly bars: readonly TopBar[];
  /** Shown where there is no bar. */
  readonly none: string;
  /** The value of a full bar; the largest by default. */
  readonly full?: number;
}

/** Rows as bars, and as a table. */
export function BarSection(props: BarSectionProps) {
  const { field, source, title, note, noun, bars, none, full, result } = props;
  const binding = useTable(props, field, source);
  if (bars.length === 0) {
    return (
      <section>
        <h2>{title}</h2>
        <p class="quiet">{none}</p>
      </section>
    );
  }
  return (
    <ChartFrame
      title={title}
      note={note}
      file={`${result.session} ${field}`}
      table={() => <Grid {...binding} {...(noun ? { noun } : {})} label={title} sums={false} />}
    >
      <TopBars bars={bars} label={title} {...(full ? { full } : {})} />
    </ChartFrame>
  );
}
