/** Shares of a whole as a ring, with the same as a list beside it. */

import { useId, useRef, useState } from "preact/hooks";
import { count as grouped, percent } from "../../base/format.ts";
import { shortened } from "../../base/text.ts";
import type { Sectors } from "../../engine/charts/largest_shares.ts";
import { ringPath } from "../../engine/charts/ring_path.ts";
import { LongName } from "../long_name.tsx";
import { SaveMenu } from "./save_menu.tsx";

export interface RingProps {
  readonly title: string;
  readonly sectors: Sectors;
  /** Text of a value, with its unit. */
  readonly show: (value: number) => string;
  /** What the rest is made of: ["op", "ops"]. */
  readonly noun: readonly [string, string];
  /** Leaves the title to what is around. */
  readonly headless?: boolean;
  /** Name of the file, where the ring itself offers to save it. */
  readonly file?: string;
}

const SIZE = 92;
/** In files the list is beside the ring. */
const FILE_LINE = 18;
const FILE_WIDTH = 760;
const FILE_NAME_CHARACTERS = 70;

export function Ring({ title, sectors, show, noun, headless = false, file }: RingProps) {
  const [marked, setMarked] = useState(-1);
  const id = useId();
  const svg = useRef<SVGSVGElement>(null);
  const items = withOther(sectors, noun);
  let end = 0;
  const arcs = items.map((item) => {
    const from = end;
    end += item.value / sectors.total;
    return ringPath(from, end, SIZE / 2 - 15, SIZE / 2 - 1);
  });
  return (
    <figure class="ring" {...(headless ? { "aria-label": title } : { "aria-labelledby": id })}>
      <div class="ring-head">
        <svg
          ref={svg}
          width={SIZE}
          height={SIZE}
          aria-hidden="true"
          data-file-width={FILE_WIDTH}
          data-file-height={Math.max(SIZE, (items.length + 2) * FILE_LINE)}
        >
          <g transform={`translate(${SIZE / 2} ${SIZE / 2})`}>
            {arcs.map((each, index) => (
              <path
                key={index}
                d={each}
                class={`sector ${items[index]?.tone ?? ""}${dimmed(marked, index)}`}
                onPointerEnter={() => setMarked(index)}
                onPointerLeave={() => setMarked(-1)}
              />
            ))}
          </g>
          <FileKey
            title={`${title}: ${show(sectors.total)} in all`}
            {...{ items, sectors, show }}
          />
        </svg>
        <figcaption>
          {!headless && <h3 id={id}>{title}</h3>}
          <p>{show(sectors.total)}</p>
          <p class="quiet">in all</p>
          {file && <SaveMenu title={title} file={file} drawing={() => svg.current} />}
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

interface FileKeyProps {
  readonly title: string;
  readonly items: readonly RingItem[];
  readonly sectors: Sectors;
  readonly show: (value: number) => string;
}

/** The list beside the ring, for the drawing as a file. */
function FileKey({ title, items, sectors, show }: FileKeyProps) {
  return (
    <g data-file-only class="file-only">
      <text x={SIZE + 16} y={FILE_LINE - 5} class="file-title">
        {title}
      </text>
      {items.map((item, index) => (
        <g key={index} transform={`translate(${SIZE + 16} ${(index + 1) * FILE_LINE})`}>
          <rect y={3} width="10" height="10" rx="2" class={`sector ${item.tone}`} />
          <text x={18} y={12}>
            {`${percent(item.value / sectors.total)}  ${show(item.value)}  ${shortened(item.label, FILE_NAME_CHARACTERS)}`}
          </text>
        </g>
      ))}
    </g>
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
