/** A waterfall drawn: totals at both ends, what grew and what shrank between them. */

import { useRef } from "preact/hooks";
import { shortened } from "../../base/text.ts";
import type { Bar, Waterfall } from "../../engine/charts/waterfall.ts";
import { useWidth } from "../element_width.ts";
import { textWidth } from "../text_width.ts";

export interface WaterfallChartProps {
  readonly waterfall: Waterfall;
  /** A value with its unit; a change with its sign. */
  readonly show: (value: number) => string;
  readonly label: string;
}

const ROW = 24;
const INSET = 4;
const LABEL_CHARACTERS = 44;

export function WaterfallChart({ waterfall, show, label }: WaterfallChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box, 960);
  const { bars, low, high } = waterfall;
  const texts = bars.map((bar) => valueText(bar, show));
  const characters = width < 700 ? LABEL_CHARACTERS / 2 : LABEL_CHARACTERS;
  const widest = (words: readonly string[]) =>
    Math.max(...words.map((word) => textWidth(word, "normal", 12)));
  const left = widest(bars.map((bar) => shortened(bar.name, characters))) + 12;
  const right = widest(texts) + 12;
  const scale = (value: number) =>
    left + ((Math.max(value, low) - low) / (high - low || 1)) * (width - left - right);
  return (
    <div ref={box}>
      <svg
        width={width}
        height={bars.length * ROW}
        viewBox={`0 0 ${width} ${bars.length * ROW}`}
        role="img"
        aria-label={`${label}: ${bars.map((bar, i) => `${bar.name} ${texts[i]}`).join(", ")}`}
        class="waterfall"
      >
        {bars.map((bar, i) => {
          const top = i * ROW;
          const from = scale(bar.from);
          const to = Math.max(scale(bar.to), from + 1);
          return (
            <g key={i} class={kindOf(bar)}>
              <title>{`${bar.name}: ${texts[i]}`}</title>
              <text x={left - 8} y={top + ROW / 2} text-anchor="end" dominant-baseline="central">
                {shortened(bar.name, characters)}
              </text>
              <rect x={from} y={top + INSET} width={to - from} height={ROW - 2 * INSET} />
              {bar.delta === null && low > 0 && <AxisBreak x={from + 8} top={top + INSET} />}
              <text x={to + 6} y={top + ROW / 2} dominant-baseline="central">
                {texts[i]}
              </text>
              {i < bars.length - 1 && (
                <line
                  x1={scale(bar.end)}
                  x2={scale(bar.end)}
                  y1={top + ROW - INSET}
                  y2={top + ROW + INSET}
                />
              )}
            </g>
          );
        })}
      </svg>
      {low > 0 && <p class="quiet">The axis begins at {show(low)}, so that the changes show.</p>}
    </div>
  );
}

function kindOf(bar: Bar): string {
  if (bar.delta === null) return "total";
  return bar.delta > 0 ? "grew" : "shrank";
}

function valueText(bar: Bar, show: (value: number) => string): string {
  if (bar.delta === null) return show(bar.to);
  return `${bar.delta > 0 ? "+" : ""}${show(bar.delta)}`;
}

/** Says that a bar does not begin at zero. */
function AxisBreak({ x, top }: { readonly x: number; readonly top: number }) {
  return <path class="axis-break" d={`M${x} ${top + ROW - 2 * INSET}l6 ${-(ROW - 2 * INSET)}`} />;
}
