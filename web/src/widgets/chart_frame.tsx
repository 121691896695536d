/** What every chart has around it: a heading, its data as a table, and itself as a file. */

import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { Popover } from "./popover.tsx";
import { saveDrawing } from "./svg_file.ts";

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
  const save = (format: "svg" | "png") => {
    const svg = body.current?.querySelector("svg");
    if (svg) void saveDrawing(svg, file, format);
  };
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
            <Popover label="Save" name={`Save chart “${title}”`} align="right">
              {(close) => (
                <div class="menu">
                  {(["svg", "png"] as const).map((format) => (
                    <button
                      key={format}
                      type="button"
                      class="menu-item"
                      onClick={() => {
                        save(format);
                        close();
                      }}
                    >
                      {format === "svg" ? "SVG drawing" : "PNG image, double size"}
                    </button>
                  ))}
                </div>
              )}
            </Popover>
          )}
        </div>
      </header>
      <div ref={body}>{asTable && table ? table() : children}</div>
    </section>
  );
}
