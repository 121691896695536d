/** A tree as slices: each level divides the one above by time. A press looks closer. */

import type { ComponentChildren } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { shortened } from "../../base/text.ts";
import { placeByKey } from "../../engine/key_step.ts";
import { type Slice, slicesOf, type Tree } from "../../engine/table/tree.ts";
import { useWidth } from "../element_width.ts";
import { textWidth } from "../text_width.ts";
import { Tip } from "./tip.tsx";

export interface IcicleProps {
  readonly label: string;
  readonly tree: Tree;
  readonly values: Float64Array;
  readonly names: readonly string[];
  /** Rows drawn faintly: time in which nothing ran. */
  readonly isFaint: (row: number) => boolean;
  /** Class of a slice, where colour says something. */
  readonly hueOf?: (row: number) => string;
  /** A slice's colour, where it has one of its own, as CSS has it; "" where it has not. */
  readonly colourOf?: (row: number) => string;
  /** Levels that are drawn at most. */
  readonly levels?: number;
  readonly root: number;
  readonly onRoot: (row: number) => void;
  readonly tip: (row: number) => ComponentChildren;
}

const LEVEL_PX = 26;
const FEW_LEVELS = 6;
/** Narrower slices would be hairlines: their time shows as a gap below their parent. */
const LEAST_PX = 3;

function deepest(slices: readonly { readonly level: number }[]): number {
  return slices.reduce((most, slice) => Math.max(most, slice.level), 0);
}

export function Icicle(props: IcicleProps) {
  const { tree, values, root, onRoot, levels: most = FEW_LEVELS } = props;
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box, 960);
  const [marked, setMarked] = useState(-1);
  const slices = useMemo(
    () => slicesOf(tree, values, root, most, LEAST_PX / width).sort(byPlace),
    [tree, values, root, most, width],
  );
  // As tall as it ever was: what is below must not jump as one looks closer.
  const tallest = useRef(0);
  tallest.current = Math.max(tallest.current, 1 + deepest(slices));
  const levels = tallest.current;
  const found = slices.find((slice) => slice.row === marked);
  const onKeyDown = (event: KeyboardEvent) => {
    const at = slices.findIndex((slice) => slice.row === marked);
    const goal = placeByKey(event.key, at, slices.length - 1);
    if (goal !== null) setMarked(slices[goal]?.row ?? -1);
    else if (event.key === "Enter" && marked >= 0) onRoot(marked);
    else if (event.key === "Escape") onRoot(tree.parents[root] ?? -1);
    else return;
    event.preventDefault();
  };
  const x = found ? ((found.from + found.to) / 2) * width : 0;
  return (
    <div
      ref={box}
      class="icicle"
      role="group"
      tabIndex={0}
      aria-label={`${props.label}. Arrow keys read the values, Enter zooms in, Escape goes up.`}
      onKeyDown={onKeyDown}
      onPointerLeave={() => setMarked(-1)}
      onBlur={() => setMarked(-1)}
    >
      <svg
        width={width}
        height={levels * LEVEL_PX}
        viewBox={`0 0 ${width} ${levels * LEVEL_PX}`}
        aria-hidden="true"
      >
        {slices.map((slice) => (
          <SliceBox
            key={slice.row}
            {...props}
            slice={slice}
            width={width}
            marked={slice.row === marked}
            onMark={() => setMarked(slice.row)}
          />
        ))}
      </svg>
      {found && (
        <Tip x={x} width={width} top={(found.level + 1) * LEVEL_PX + 4}>
          {props.tip(marked)}
        </Tip>
      )}
    </div>
  );
}

function byPlace(a: Slice, b: Slice): number {
  return a.level - b.level || a.from - b.from;
}

interface SliceBoxProps extends IcicleProps {
  readonly slice: Slice;
  readonly width: number;
  readonly marked: boolean;
  readonly onMark: () => void;
}

function SliceBox(props: SliceBoxProps) {
  const { slice, width, names, isFaint, marked, onMark, onRoot, root, tree } = props;
  const { row, level, from, to } = slice;
  const x = from * width;
  const span = Math.max(0.5, (to - from) * width - 1);
  const y = level * LEVEL_PX;
  const name = fitting(names[row] ?? "", span - 10);
  const colour = props.colourOf?.(row);
  return (
    <g
      class={`slice${marked ? " marked" : ""}${isFaint(row) ? " faint" : ""} ${props.hueOf?.(row) ?? ""}`}
      onPointerEnter={onMark}
      onClick={() => onRoot(row === root ? (tree.parents[row] ?? -1) : row)}
    >
      <rect
        x={x}
        y={y}
        width={span}
        height={LEVEL_PX - 2}
        style={colour ? { fill: `color-mix(in srgb, ${colour} 40%, var(--bg))` } : undefined}
      />
      {name && (
        <text x={x + 5} y={y + LEVEL_PX / 2 - 2} dominant-baseline="central">
          {name}
        </text>
      )}
    </g>
  );
}

/** As much of a name as fits; nothing when that would be a few letters. */
function fitting(name: string, px: number): string {
  if (px < 24) return "";
  const whole = textWidth(name, "normal", 12);
  if (whole <= px) return name;
  const most = Math.floor((name.length * px) / whole) - 1;
  return most < 4 ? "" : shortened(name, most);
}
