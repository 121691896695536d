/** The largest shares of a whole as bars, with the rest in words. */

import { useId, useRef } from "preact/hooks";
import { count as grouped, percent } from "../../base/format.ts";
import type { Sectors } from "../../engine/charts/largest_shares.ts";
import { SaveMenu } from "./save_menu.tsx";
import { TopBars } from "./top_bars.tsx";

export interface ShareBarsProps {
  readonly title: string;
  readonly sectors: Sectors;
  /** Text of a value, with its unit. */
  readonly show: (value: number) => string;
  /** What the rest is made of: ["op", "ops"]. */
  readonly noun: readonly [string, string];
  /** Leaves the title to what is around. */
  readonly headless?: boolean;
  /** Name of the file, where the chart itself offers to save it. */
  readonly file?: string;
}

export function ShareBars({ title, sectors, show, noun, headless = false, file }: ShareBarsProps) {
  const id = useId();
  const frame = useRef<HTMLElement>(null);
  const { other, total } = sectors;
  const part = (value: number) => `${percent(value / total)}, ${show(value)}`;
  return (
    <figure
      ref={frame}
      class="share-bars"
      {...(headless ? { "aria-label": title } : { "aria-labelledby": id })}
    >
      {!headless && (
        <header class="section-head">
          <h3 id={id}>{title}</h3>
          {file && (
            <div class="section-controls">
              <SaveMenu
                title={title}
                file={file}
                drawing={() => frame.current?.querySelector<SVGSVGElement>("svg.top-bars")}
              />
            </div>
          )}
        </header>
      )}
      <TopBars
        label={title}
        bars={sectors.sectors.map(({ label, value }) => ({ label, value, text: part(value) }))}
      />
      <figcaption class="quiet">
        {show(total)} in all
        {other.count > 0 &&
          `; ${grouped(other.count)} other ${other.count === 1 ? noun[0] : noun[1]}: ${part(other.value)}`}
      </figcaption>
    </figure>
  );
}
