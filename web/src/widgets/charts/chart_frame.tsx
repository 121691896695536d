/** What every chart has around it: a heading, its data as a table, and itself as a file. */

import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { SaveMenu } from "./save_menu.tsx";

export interface ChartFrameProps {
  readonly title: string;
  /** Said beside the title: what is drawn, over what. */
  readonly note?: ComponentChildren;
  /** Name of exported files. */
  readonly file: string;
  readonly controls?: ComponentChildren;
  /** The same data as a table: the accessible form of the chart. */
  readonly table?: () => ComponentChildren;
  readonly children: ComponentChildren;
}

export function ChartFrame({ title, note, file, controls, table, children }: ChartFrameProps) {
  const [asTable, setAsTable] = useState(false);
  const body = useRef<HTMLDivElement>(null);
  return (
    <section class="chart">
      <header class="section-head">
        <h2>{title}</h2>
        {note && <p class="quiet">{note}</p>}
        <div class="section-controls">
          {controls}
          {table && (
            <button
              type="button"
              class="button"
              aria-pressed={asTable}
              onClick={() => setAsTable(!asTable)}
            >
              {asTable ? "Show as chart" : "Show as table"}
            </button>
          )}
          {!asTable && (
            <SaveMenu
              title={title}
              file={file}
              drawing={() => body.current?.querySelector("svg")}
            />
          )}
        </div>
      </header>
      <div ref={body}>{asTable && table ? table() : children}</div>
    </section>
  );
}
