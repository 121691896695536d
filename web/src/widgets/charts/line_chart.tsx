/**
 * Values over a rising axis: areas on the left axis, lines on the left or the right one. The
 * pointer or the arrow keys read the points out; a drag narrows the axis.
 */

import type { ComponentChildren } from "preact";
import { useId, useMemo, useRef, useState } from "preact/hooks";
import type { Ticks, TicksOf } from "../../engine/axes/ticks.ts";
import { areaPath, indexAt, linePath, nearestTo, type ToPx } from "../../engine/charts/curve.ts";
import { placeByKey } from "../../engine/key_step.ts";
import { useWidth } from "../element_width.ts";
import { textWidth } from "../text_width.ts";
import { Tip } from "./tip.tsx";

export interface Line {
  readonly id: string;
  readonly label: string;
  /** Class that sets `--hue`. */
  readonly hue: string;
  readonly values: ArrayLike<number>;
  readonly form: "area" | "line" | "dashed";
  readonly axis: "left" | "right";
  /** Whether each point is marked: few points, each of which is something. */
  readonly dots?: boolean;
}

export interface Marker {
  readonly x: number;
  readonly y: number;
  readonly label: string;
}

export interface LineChartProps {
  /** What is drawn, for assistive technology. */
  readonly label: string;
  /** Rising. */
  readonly xs: Float64Array;
  /** In painting order: what is stacked on others first. */
  readonly lines: readonly Line[];
  /** A value holds until the next point. */
  readonly stepwise: boolean;
  /** Begin and end of the axis. */
  readonly span: readonly [number, number];
  /** Called with a narrower axis, or null for all of it; absent: no zoom. */
  readonly onSpan?: ((span: readonly [number, number] | null) => void) | undefined;
  readonly xName: string;
  readonly xTicks: TicksOf;
  readonly yTicks: TicksOf;
  readonly top: number;
  readonly right?: { readonly ticks: TicksOf; readonly top: number; readonly name: string };
  readonly markers?: readonly Marker[];
  /** Point that stays marked. */
  readonly chosen?: number;
  readonly onChoose?: (index: number) => void;
  /** Whether the whole stretch up to the next point belongs to a point, or its surroundings. */
  readonly tip: (index: number) => ComponentChildren;
  readonly height?: number;
}

/** The point, or that at the edge of the axis which is nearest to it. */
function pointInView(xs: Float64Array, [from, to]: readonly [number, number], point: number) {
  const x = xs[point] ?? Number.NaN;
  if (x > to) return Math.max(0, indexAt(xs, to));
  if (!(x < from)) return point;
  const before = indexAt(xs, from);
  return xs[before] === from ? before : Math.min(xs.length - 1, before + 1);
}

/** Room for the name of the right axis and, below it, those of markers. */
const TOP = 34;
const BOTTOM = 22;

interface Frame {
  readonly width: number;
  readonly height: number;
  readonly left: number;
  readonly end: number;
  readonly toX: ToPx;
  readonly toY: ToPx;
  readonly toRight: ToPx;
  readonly x: Ticks;
  readonly y: Ticks;
  readonly right: Ticks | null;
}

const widest = (labels: readonly string[]) =>
  Math.max(0, ...labels.map((label) => textWidth(label, "normal", 12)));

function frameOf(props: LineChartProps, width: number): Frame {
  const { span, top, right, xName, height = 236 } = props;
  const y = props.yTicks(0, top || 1, 4);
  const rightTicks = right ? right.ticks(0, right.top || 1, 4) : null;
  const left = Math.max(widest(y.labels), textWidth(xName, "normal", 12)) + 10;
  const end = width - (rightTicks ? widest(rightTicks.labels) + 10 : 6);
  const floor = height - BOTTOM;
  const [from, to] = span;
  const scale = (most: number) => (value: number) => floor - (value / (most || 1)) * (floor - TOP);
  return {
    width,
    height,
    left,
    end,
    toX: (x) => left + ((x - from) / (to - from || 1)) * (end - left),
    toY: scale(top),
    toRight: scale(right?.top ?? 1),
    x: props.xTicks(from, to, Math.max(2, Math.floor((end - left) / 110))),
    y,
    right: rightTicks,
  };
}

export function LineChart(props: LineChartProps) {
  const { xs, span, onSpan, onChoose, stepwise } = props;
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box, 960);
  const frame = useMemo(() => frameOf(props, width), [props, width]);
  const [marked, setMarked] = useState(-1);
  // Moves may arrive before the press has been drawn, so where it began is not in the drawn state.
  const dragFrom = useRef(Number.NaN);
  const [drag, setDrag] = useState<readonly [number, number] | null>(null);

  const valueAt = (clientX: number) => {
    const x = clientX - (box.current?.getBoundingClientRect().left ?? 0);
    const share = (x - frame.left) / (frame.end - frame.left);
    return span[0] + Math.min(1, Math.max(0, share)) * (span[1] - span[0]);
  };
  const pointAt = (value: number) => (stepwise ? indexAt(xs, value) : nearestTo(xs, value));
  const endDrag = (clientX: number | null) => {
    const from = dragFrom.current;
    dragFrom.current = Number.NaN;
    setDrag(null);
    if (clientX === null || Number.isNaN(from)) return;
    const to = valueAt(clientX);
    const far = Math.abs(frame.toX(to) - frame.toX(from)) > 5;
    if (far && onSpan) onSpan([Math.min(from, to), Math.max(from, to)]);
    else if (!far) onChoose?.(pointAt(to));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.round(xs.length / 20));
    const goal = placeByKey(event.key, marked, xs.length - 1, page);
    if (goal !== null) setMarked(pointInView(xs, span, goal));
    else if (event.key === "Enter" && marked >= 0 && onChoose) onChoose(marked);
    else if (event.key === "Escape" && onSpan) onSpan(null);
    else return;
    event.preventDefault();
  };
  const x = marked >= 0 && marked < xs.length ? frame.toX(xs[marked] as number) : Number.NaN;
  return (
    <div
      ref={box}
      class="line-chart"
      role="group"
      tabIndex={0}
      aria-label={`${props.label}. Arrow keys read the values${onChoose ? ", Enter selects" : ""}${onSpan ? ", Escape shows all" : ""}.`}
      onKeyDown={onKeyDown}
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        box.current?.setPointerCapture(event.pointerId);
        dragFrom.current = valueAt(event.clientX);
      }}
      onPointerMove={(event) => {
        const value = valueAt(event.clientX);
        setMarked(pointAt(value));
        if (onSpan && !Number.isNaN(dragFrom.current)) setDrag([dragFrom.current, value]);
      }}
      onPointerUp={(event) => endDrag(event.clientX)}
      onPointerCancel={() => endDrag(null)}
      onPointerLeave={() => setMarked(-1)}
      onBlur={() => setMarked(-1)}
    >
      <Drawing {...props} frame={frame} markedX={x} drag={drag} />
      {!Number.isNaN(x) && (
        <Tip x={x} width={width}>
          {props.tip(marked)}
        </Tip>
      )}
    </div>
  );
}

interface DrawingProps extends LineChartProps {
  readonly frame: Frame;
  readonly markedX: number;
  readonly drag: readonly [number, number] | null;
}

function Drawing(props: DrawingProps) {
  const { xs, frame, lines, markers = [], markedX, drag, chosen = -1 } = props;
  const { width, height, left, end, toX, toY } = frame;
  const floor = height - BOTTOM;
  const shapes = useMemo(() => lines.map((line) => shapeOf(props, line)), [frame, lines, xs]);
  const clip = useId();
  const inView = (x: number) => x >= left - 1 && x <= end + 1;
  const chosenX = chosen >= 0 && chosen < xs.length ? toX(xs[chosen] as number) : Number.NaN;
  return (
    <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
      <Axes {...props} />
      <clipPath id={clip}>
        <rect x={left} y={0} width={Math.max(0, end - left)} height={height} />
      </clipPath>
      <g clip-path={`url(#${clip})`}>{shapes}</g>
      <line class="base-line" x1={left} x2={end} y1={floor} y2={floor} />
      {markers
        .filter(({ x }) => x >= props.span[0] && x <= props.span[1])
        .map((marker) => (
          <g key={marker.label} class="marker">
            <line x1={toX(marker.x)} x2={toX(marker.x)} y1={TOP - 2} y2={floor} />
            <circle cx={toX(marker.x)} cy={toY(marker.y)} r={4} />
            <text
              x={toX(marker.x) + (toX(marker.x) > (left + end) / 2 ? -8 : 8)}
              y={TOP - 10}
              text-anchor={toX(marker.x) > (left + end) / 2 ? "end" : "start"}
              dominant-baseline="central"
            >
              {marker.label}
            </text>
          </g>
        ))}
      {inView(chosenX) && (
        <line class="chosen-line" x1={chosenX} x2={chosenX} y1={TOP} y2={floor} />
      )}
      {inView(markedX) && (
        <line data-screen-only class="cursor-line" x1={markedX} x2={markedX} y1={TOP} y2={floor} />
      )}
      {drag && (
        <rect
          data-screen-only
          class="step-brush"
          x={Math.min(toX(drag[0]), toX(drag[1]))}
          width={Math.abs(toX(drag[1]) - toX(drag[0]))}
          y={TOP}
          height={floor - TOP}
        />
      )}
    </svg>
  );
}

function shapeOf(props: DrawingProps, line: Line) {
  const { xs, frame, stepwise } = props;
  const toY = line.axis === "right" ? frame.toRight : frame.toY;
  if (line.form === "area") {
    const path = areaPath(xs, line.values, frame.toX, toY, stepwise, frame.end);
    return <path key={line.id} class={`area ${line.hue}`} d={path} />;
  }
  const path = linePath(xs, line.values, frame.toX, toY, stepwise);
  // A line whose last value is unknown ends before the axis does.
  const holds = stepwise && path && !Number.isNaN(line.values[xs.length - 1]);
  const tail = holds ? `H${frame.end.toFixed(1)}` : "";
  const curve = <path key={line.id} class={`curve ${line.form} ${line.hue}`} d={path + tail} />;
  if (!line.dots) return curve;
  return (
    <g key={line.id} class={line.hue}>
      {curve}
      {Array.from(line.values, (y, i) =>
        Number.isNaN(y) ? null : (
          <circle key={i} class="dot" cx={frame.toX(xs[i] as number)} cy={toY(y)} r={3} />
        ),
      )}
    </g>
  );
}

function Axes({ frame, right, xName }: DrawingProps) {
  const { left, end, height, toX, toY, toRight } = frame;
  const floor = height - BOTTOM;
  return (
    <g class="axis">
      {frame.y.values.map((value, i) => (
        <g key={value}>
          <line x1={left} x2={end} y1={toY(value)} y2={toY(value)} />
          <text x={left - 6} y={toY(value)} text-anchor="end" dominant-baseline="central">
            {frame.y.labels[i]}
          </text>
        </g>
      ))}
      {frame.right?.values.map((value, i) => (
        <text key={value} x={end + 6} y={toRight(value)} dominant-baseline="central">
          {frame.right?.labels[i]}
        </text>
      ))}
      {right && (
        <text x={frame.width} y={8} text-anchor="end" dominant-baseline="central">
          {right.name}
        </text>
      )}
      <text x={left - 6} y={floor + 15} text-anchor="end">
        {xName}
      </text>
      {frame.x.values.map((value, i) => (
        <text
          key={value}
          {...insideOf(left, end, toX(value), frame.x.labels[i] ?? "")}
          y={floor + 15}
        >
          {frame.x.labels[i]}
        </text>
      ))}
    </g>
  );
}

/** A label under its place, moved in where it would leave the axis. */
function insideOf(left: number, end: number, x: number, label: string) {
  const half = textWidth(label, "normal", 12) / 2;
  if (x - half < left) return { x: left, "text-anchor": "start" } as const;
  if (x + half > end) return { x: end, "text-anchor": "end" } as const;
  return { x, "text-anchor": "middle" } as const;
}

/** Names of the lines beside their colours. */
export function LineKey({ lines }: { lines: readonly Line[] }) {
  return (
    <ul class="part-key quiet">
      {lines.map((line) => (
        <li key={line.id}>
          <svg class="swatch" width="14" height="12" aria-hidden="true">
            {line.form === "area" ? (
              <rect width="14" height="12" rx="2" class={`area ${line.hue}`} />
            ) : (
              <path d="M0 6H14" class={`curve ${line.form} ${line.hue}`} />
            )}
          </svg>
          {line.label}
        </li>
      ))}
    </ul>
  );
}
