/** One bar divided into the parts of a whole, each named with its size. */

import { useId, useRef } from "preact/hooks";
import { duration, percent } from "../../base/format.ts";
import type { Part } from "../../base/parts.ts";
import { useWidth } from "../element_width.ts";
import { textWidth } from "../text_width.ts";
import { partFill, Swatch, Textures } from "./textures.tsx";

export interface StackItem {
  readonly part: Part;
  /** Mean per step in ms; null: not available. */
  readonly ms: number | null;
  /** Standard deviation in ms, if known. */
  readonly stdMs: number | null;
}

export interface StackBarProps {
  readonly items: readonly StackItem[];
  readonly totalMs: number;
  /** The page with more about a part; null where there is none. */
  readonly linkOf?: (part: string) => { readonly href: string; readonly title: string } | null;
  /** What is divided, "Average step" where it is not given. */
  readonly label?: string;
}

const HEIGHT = 36;

export function StackBar({ items, totalMs, label = "Average step", linkOf }: StackBarProps) {
  const scope = useId();
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box, 960);
  const shown = items.filter((item) => (item.ms ?? 0) > 0);
  const summary = shown
    .map(({ part, ms }) => `${part.label} ${percent((ms as number) / totalMs)}`)
    .join(", ");
  let x = 0;
  return (
    <div ref={box} class="stack-bar">
      <svg
        width={width}
        height={HEIGHT}
        viewBox={`0 0 ${width} ${HEIGHT}`}
        role="img"
        aria-label={`${label}: ${summary}`}
      >
        <Textures parts={shown.map((item) => item.part)} scope={scope} />
        {shown.map(({ part, ms }) => {
          const value = ms as number;
          const span = (value / totalMs) * width;
          const at = x;
          x += span;
          return (
            <g key={part.id}>
              <rect
                x={at}
                width={Math.max(0.5, span - 1)}
                height={HEIGHT}
                {...partFill(part, scope)}
              >
                <title>{`${part.label}: ${duration(value, "ms")}, ${percent(value / totalMs)}`}</title>
              </rect>
              <BarLabel part={part} text={percent(value / totalMs)} x={at} width={span} />
            </g>
          );
        })}
      </svg>
      <Legend items={items} totalMs={totalMs} scope={scope} {...(linkOf ? { linkOf } : {})} />
    </div>
  );
}

function BarLabel({
  part,
  text,
  x,
  width,
}: {
  part: Part;
  text: string;
  x: number;
  width: number;
}) {
  const whole = `${part.label} ${text}`;
  const fits = (label: string) => textWidth(label, "bold", 12) + 16 <= width;
  const label = fits(whole) ? whole : fits(text) ? text : "";
  if (!label) return null;
  return (
    <g class="bar-label">
      {part.pattern !== "solid" && (
        <rect
          x={x + 5}
          y={9}
          width={textWidth(label, "bold", 12) + 6}
          height={18}
          rx={2}
          class={`fill-${part.colour}`}
        />
      )}
      <text x={x + 8} y={HEIGHT / 2} class={`on-${part.colour}`} dominant-baseline="central">
        {label}
      </text>
    </g>
  );
}

interface PartNameProps {
  readonly part: Part;
  readonly link: { readonly href: string; readonly title: string } | null;
}

function PartName({ part, link }: PartNameProps) {
  if (!link) return <span class="legend-name">{part.label}</span>;
  return (
    <a class="legend-name" href={link.href} title={`Opens ${link.title}`}>
      {part.label}
    </a>
  );
}

interface LegendProps extends StackBarProps {
  readonly scope: string;
}

function Legend({ items, totalMs, scope, linkOf }: LegendProps) {
  const shown = items.filter((item) => (item.ms ?? 0) > 0);
  const none = items.filter((item) => item.ms === 0).map((item) => item.part.label);
  const unknown = items.filter((item) => item.ms === null).map((item) => item.part.label);
  return (
    <>
      <ul class="legend">
        {shown.map(({ part, ms, stdMs }) => (
          <li key={part.id}>
            <Swatch part={part} scope={scope} />
            <PartName part={part} link={linkOf?.(part.id) ?? null} />
            <span
              class="legend-value"
              title={stdMs === null ? undefined : `± ${duration(stdMs, "ms")}`}
            >
              {duration(ms as number, "ms")}
            </span>
            <span class="legend-share">{percent((ms as number) / totalMs)}</span>
          </li>
        ))}
      </ul>
      {none.length > 0 && <p class="quiet legend-rest">No time in: {none.join(", ")}.</p>}
      {unknown.length > 0 && <p class="quiet legend-rest">Not recorded: {unknown.join(", ")}.</p>}
    </>
  );
}
