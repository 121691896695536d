/** Shares of a whole as a ring, with the same as a list beside it. */

import { arc, pie } from "d3-shape";
import { useId, useState } from "preact/hooks";
import { count as grouped, percent } from "../base/format.ts";
import type { Sectors } from "../engine/sectors.ts";
import { LongName } from "./long_name.tsx";

export interface RingProps {
  readonly title: string;
  readonly sectors: Sectors;
  /** Text of a value, with its unit. */
  readonly show: (value: number) => string;
  /** What the rest is made of: ["op", "ops"]. */
  readonly noun: readonly [string, string];
}

const SIZE = 92;

export function Ring({ title, sectors, show, noun }: RingProps) {
  const [marked, setMarked] = useState(-1);
  const id = useId();
  const items = withOther(sectors, noun);
  const shape = arc<{ startAngle: number; endAngle: number }>()
    .innerRadius(SIZE / 2 - 15)
    .outerRadius(SIZE / 2 - 1);
  const arcs = pie<{ value: number }>()
    .sort(null)
    .value((item) => item.value)(items);
  return (
    <figure class="ring" aria-labelledby={id}>
      <div class="ring-head">
        <svg width={SIZE} height={SIZE} aria-hidden="true">
          <g transform={`translate(${SIZE / 2} ${SIZE / 2})`}>
            {arcs.map((each, index) => (
              <path
                key={index}
                d={shape(each) ?? ""}
                class={`sector ${items[index]?.tone ?? ""}${dimmed(marked, index)}`}
                onPointerEnter={() => setMarked(index)}
                onPointerLeave={() => setMarked(-1)}
              />
            ))}
          </g>
        </svg>
        <figcaption>
          <h3 id={id}>{title}</h3>
          <p>{show(sectors.total)}</p>
          <p class="quiet">in all</p>
        </figcaption>
      </div>
      <ol class="ring-list">
        {items.map((item, index) => (
          <li
            key={index}
            class={marked === index ? "marked" : ""}
            title={`${item.label}: ${show(item.value)}`}
            onPointerEnter={() => setMarked(index)}
            onPointerLeave={() => setMarked(-1)}
          >
            <svg class="swatch" width="10" height="10" aria-hidden="true">
              <rect width="10" height="10" rx="2" class={`sector ${item.tone}`} />
            </svg>
            <span class="ring-name">
              <LongName name={item.label} />
            </span>
            <span class="ring-share">{percent(item.value / sectors.total)}</span>
          </li>
        ))}
      </ol>
    </figure>
  );
}

function dimmed(marked: number, index: number): string {
  return marked >= 0 && marked !== index ? " dimmed" : "";
}

interface RingItem {
  readonly label: string;
  readonly value: number;
  readonly tone: string;
}

function withOther(sectors: Sectors, noun: readonly [string, string]): RingItem[] {
  const items = sectors.sectors.map((share, index) => ({ ...share, tone: `tone-${index + 1}` }));
  const { value, count } = sectors.other;
  if (count === 0) return items;
  const label = `${grouped(count)} other ${count === 1 ? noun[0] : noun[1]}`;
  return [...items, { label, value, tone: "tone-other" }];
}
