/** The largest rows of a table as horizontal bars. */

import { useRef } from "preact/hooks";
import { shortened } from "../base/text.ts";
import { textWidth } from "./measure.ts";
import { useWidth } from "./width.ts";

export interface TopBar {
  readonly label: string;
  readonly value: number;
  /** The value with its unit. */
  readonly text: string;
}

export interface TopBarsProps {
  readonly bars: readonly TopBar[];
  readonly label: string;
}

const ROW = 22;
const LABEL_CHARACTERS = 38;

export function TopBars({ bars, label }: TopBarsProps) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box, 960);
  const left =
    Math.max(
      ...bars.map((bar) => textWidth(shortened(bar.label, LABEL_CHARACTERS), "normal", 12)),
    ) + 12;
  const right = Math.max(...bars.map((bar) => textWidth(bar.text, "normal", 12))) + 10;
  const max = Math.max(...bars.map((bar) => bar.value)) || 1;
  return (
    <div ref={box}>
      <svg width={width} height={bars.length * ROW} role="img" aria-label={label} class="top-bars">
        {bars.map((bar, i) => {
          const length = Math.max(1, (bar.value / max) * (width - left - right));
          const middle = i * ROW + ROW / 2;
          return (
            <g key={i}>
              <title>{`${bar.label}: ${bar.text}`}</title>
              <text x={left - 8} y={middle} text-anchor="end" dominant-baseline="central">
                {shortened(bar.label, LABEL_CHARACTERS)}
              </text>
              <rect x={left} y={i * ROW + 4} width={length} height={ROW - 8} class="plain-bar" />
              <text x={left + length + 6} y={middle} dominant-baseline="central">
                {bar.text}
              </text>
            </g>
          );
        })}
      </svg>
    </div>
  );
}
