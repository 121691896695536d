/** The largest rows of a table as horizontal bars. */

import { useRef } from "preact/hooks";
import { shortened } from "../../base/text.ts";
import { useWidth } from "../element_width.ts";
import { textWidth } from "../text_width.ts";

export interface TopBar {
  readonly label: string;
  readonly value: number;
  /** The value with its unit. */
  readonly text: string;
  /** Said as the pointer rests on it. */
  readonly more?: string;
}

export interface TopBarsProps {
  readonly bars: readonly TopBar[];
  readonly label: string;
  /** What a full bar stands for; its outline is then drawn behind each. The longest, if absent. */
  readonly full?: number;
  /** Characters of a label that are shown at most: more where names are paths. */
  readonly characters?: number;
}

const ROW = 22;
const LABEL_CHARACTERS = 38;
const FEWEST_CHARACTERS = 10;
/** Of the width for labels: on a narrow page they are shortened, so that bars are left to see. */
const LABELS_FRAC = 0.45;

/** Below this, bars give way to no more than the first part of what is said of them. */
const LEAST_BARS_PX = 80;

/** How many characters of labels have room, up to `most`, and the width of the longest then. */
function labelRoom(bars: readonly TopBar[], most: number, width: number): [number, number] {
  for (let characters = most; ; characters -= 2) {
    const texts = bars.map((bar) => shortened(bar.label, characters));
    const longest = Math.max(...texts.map((text) => textWidth(text, "normal", 12)));
    if (longest <= LABELS_FRAC * width || characters <= FEWEST_CHARACTERS) {
      return [characters, longest];
    }
  }
}

export function TopBars({ bars, label, full, characters: most = LABEL_CHARACTERS }: TopBarsProps) {
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame, 960);
  const [characters, longest] = labelRoom(bars, most, width);
  const left = longest + 12;
  const rightOf = (texts: readonly string[]) =>
    Math.max(...texts.map((text) => textWidth(text, "normal", 12))) + 10;
  const whole = bars.map((bar) => bar.text);
  const isNarrow = width - left - rightOf(whole) < LEAST_BARS_PX;
  // The rest of a text is in the tip.
  const texts = isNarrow ? whole.map((text) => text.split(", ")[0] as string) : whole;
  const right = rightOf(texts);
  const max = Math.max(full ?? 0, ...bars.map((bar) => bar.value)) || 1;
  const room = Math.max(1, width - left - right);
  return (
    <div ref={frame}>
      <svg
        width={width}
        height={bars.length * ROW}
        viewBox={`0 0 ${width} ${bars.length * ROW}`}
        role="img"
        aria-label={label}
        class="top-bars"
      >
        {bars.map((bar, i) => {
          const length = Math.max(1, (bar.value / max) * room);
          const track = full === undefined ? length : (full / max) * room;
          const box = { x: left, y: i * ROW + 4, height: ROW - 8 };
          const middle = i * ROW + ROW / 2;
          return (
            <g key={i}>
              <title>{[`${bar.label}: ${bar.text}`, bar.more].filter(Boolean).join("; ")}</title>
              <text x={left - 8} y={middle} text-anchor="end" dominant-baseline="central">
                {shortened(bar.label, characters)}
              </text>
              {full !== undefined && <rect {...box} width={track} class="bar-track" />}
              <rect {...box} width={length} class="plain-bar" />
              <text x={left + Math.max(length, track) + 6} y={middle} dominant-baseline="central">
                {texts[i]}
              </text>
            </g>
          );
        })}
      </svg>
    </div>
  );
}
