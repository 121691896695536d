/** Points under ceilings, both axes logarithmic. A press chooses a point, a drag a rectangle. */

import type { ComponentChildren } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { flopRate } from "../../base/format.ts";
import { logScale, powerTicks } from "../../engine/axes/ticks.ts";
import {
  type Ceiling,
  type Extent,
  extentOf,
  ridgeAt,
  slopeOf,
} from "../../engine/charts/roofline.ts";
import { placeByKey } from "../../engine/key_step.ts";
import { useWidth } from "../element_width.ts";
import { textWidth } from "../text_width.ts";
import { Tip } from "./tip.tsx";

export interface RoofDot {
  /** FLOP/B. */
  readonly x: number;
  /** GFLOP/s. */
  readonly y: number;
  /** Share of the time, 0–1; the area of the dot. */
  readonly share: number;
  /** The rate that what bounds it would allow, GFLOP/s; NaN where that is not known. */
  readonly roof: number;
  /** How far it has come to that, in words. */
  readonly roofLabel: string;
  readonly hue: string;
  /** What stands for more than one op. */
  readonly whole: boolean;
}

/** The most that the device computes in a type of number. */
export interface Peak {
  /** GFLOP/s. */
  readonly rate: number;
  readonly label: string;
}

export interface RooflineChartProps {
  readonly label: string;
  readonly dots: readonly RoofDot[];
  readonly ceilings: readonly (Ceiling & { readonly label: string })[];
  /** The fastest first: the roof of the whole chart. */
  readonly peaks: readonly Peak[];
  readonly tip: (index: number) => ComponentChildren;
  readonly onChoose: (index: number) => void;
  readonly onBox: (x: readonly [number, number], y: readonly [number, number]) => void;
}

/** Room for the heading, the figures above and the key below, so that a window shows the whole. */
const BESIDE_PX = 428;
const LEAST_HEIGHT = 260;
const MOST_HEIGHT = 460;
const TOP = 18;
const BOTTOM = 38;
const LEAST_RADIUS = 4;
const MOST_RADIUS = 16;
const NEAR_PX = 18;
/** A hand that presses moves so far without meaning it. */
const PRESS_PX = 6;

/** The rate of a tick: a power of ten needs no decimals. */
function roundRate(gflops: number): string {
  return flopRate(gflops).replace(/\.0+(?= )/, "");
}

interface Frame {
  readonly width: number;
  readonly height: number;
  readonly left: number;
  readonly extent: Extent;
  readonly toX: (value: number) => number;
  readonly toY: (value: number) => number;
}

function frameOf({ dots, ceilings, peaks }: RooflineChartProps, width: number): Frame {
  const extent = extentOf(
    dots.map((dot) => dot.x),
    [...dots.map((dot) => dot.y), ...peaks.map((peak) => peak.rate)],
    ceilings,
  );
  const height = Math.max(LEAST_HEIGHT, Math.min(MOST_HEIGHT, window.innerHeight - BESIDE_PX));
  const labels = powerTicks(...extent.y, 6, roundRate).labels;
  const left = Math.max(70, ...labels.map((label) => textWidth(label, "normal", 12))) + 10;
  return {
    width,
    height,
    left,
    extent,
    toX: logScale(...extent.x, left, width - 8),
    toY: logScale(...extent.y, height - BOTTOM, TOP),
  };
}

type Corner = readonly [number, number];

export function RooflineChart(props: RooflineChartProps) {
  const { dots } = props;
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box, 960);
  const frame = useMemo(() => frameOf(props, width), [dots, props.ceilings, props.peaks, width]);
  const [marked, setMarked] = useState(-1);
  const { drag, handlers } = useRectangle(
    box,
    (at) => setMarked(nearest(dots, frame, at)),
    (from, to) => {
      const back = backFrom(frame);
      const rising = (a: number, b: number) => [Math.min(a, b), Math.max(a, b)] as const;
      props.onBox(rising(back.x(from[0]), back.x(to[0])), rising(back.y(from[1]), back.y(to[1])));
    },
    (at) => {
      const found = nearest(dots, frame, at);
      if (found >= 0) props.onChoose(found);
    },
  );
  const onKeyDown = (event: KeyboardEvent) => {
    const goal = placeByKey(event.key, marked, dots.length - 1);
    if (goal !== null) setMarked(goal);
    else if (event.key === "Enter" && marked >= 0) props.onChoose(marked);
    else return;
    event.preventDefault();
  };
  const dot = dots[marked];
  return (
    <div
      ref={box}
      class="line-chart"
      role="group"
      tabIndex={0}
      aria-label={`${props.label}. Arrow keys read the values, Enter selects.`}
      onKeyDown={onKeyDown}
      {...handlers}
      onPointerLeave={() => setMarked(-1)}
      onBlur={() => setMarked(-1)}
    >
      <Drawing {...props} frame={frame} marked={marked} drag={drag} />
      {dot && !drag && (
        <Tip x={frame.toX(dot.x)} width={width}>
          {props.tip(marked)}
        </Tip>
      )}
    </div>
  );
}

/** The dot under the pointer, or so near that it is meant; -1 for none. */
function nearest(dots: readonly RoofDot[], frame: Frame, [x, y]: Corner): number {
  let best = -1;
  let least = Number.POSITIVE_INFINITY;
  dots.forEach((dot, i) => {
    const far = Math.hypot(frame.toX(dot.x) - x, frame.toY(dot.y) - y);
    if (far >= least) return;
    least = far;
    best = i;
  });
  return least <= Math.max(NEAR_PX, radiusOf(dots[best]) + 2) ? best : -1;
}

type Rectangle = readonly [Corner, Corner];

/** A rectangle drawn with the pointer, or a press where it did not move. */
function useRectangle(
  box: { readonly current: HTMLDivElement | null },
  onHover: (at: Corner) => void,
  onRectangle: (from: Corner, to: Corner) => void,
  onPress: (at: Corner) => void,
) {
  // Moves may arrive before the press has been drawn, so where it began is not in the drawn state.
  const from = useRef<Corner | null>(null);
  const [drag, setDrag] = useState<Rectangle | null>(null);
  const cornerAt = (event: PointerEvent): Corner => {
    const rect = box.current?.getBoundingClientRect();
    return [event.clientX - (rect?.left ?? 0), event.clientY - (rect?.top ?? 0)];
  };
  const end = (to: Corner | null) => {
    const begin = from.current;
    from.current = null;
    setDrag(null);
    if (!begin || !to) return;
    if (Math.hypot(to[0] - begin[0], to[1] - begin[1]) > PRESS_PX) onRectangle(begin, to);
    else onPress(to);
  };
  return {
    drag,
    handlers: {
      onPointerDown: (event: PointerEvent) => {
        if (event.button !== 0) return;
        box.current?.setPointerCapture(event.pointerId);
        from.current = cornerAt(event);
      },
      onPointerMove: (event: PointerEvent) => {
        const at = cornerAt(event);
        onHover(at);
        if (from.current) setDrag([from.current, at]);
      },
      onPointerUp: (event: PointerEvent) => end(cornerAt(event)),
      onPointerCancel: () => end(null),
    },
  };
}

interface DrawingProps extends RooflineChartProps {
  readonly frame: Frame;
  readonly marked: number;
  readonly drag: Rectangle | null;
}

function Drawing({ dots, ceilings, peaks, frame, marked, drag }: DrawingProps) {
  return (
    <svg
      width={frame.width}
      height={frame.height}
      viewBox={`0 0 ${frame.width} ${frame.height}`}
      aria-hidden="true"
    >
      <Axes frame={frame} />
      {ceilings.map((ceiling, place) => (
        <CeilingLine
          key={ceiling.label}
          ceiling={ceiling}
          place={place}
          frame={frame}
          above={gapAbove(ceilings, ceiling, frame)}
          dots={dots}
        />
      ))}
      {peaks.map((peak, place) => (
        <PeakLine
          key={peak.label}
          peak={peak}
          isFirst={place === 0}
          ceilings={ceilings}
          frame={frame}
        />
      ))}
      {dots[marked] && !drag && <UpToRoof dot={dots[marked] as RoofDot} frame={frame} />}
      {dots.map((each, i) => (
        <Dot key={i} dot={each} frame={frame} marked={i === marked} />
      ))}
      {drag && (
        <rect
          data-screen-only
          class="step-brush"
          x={Math.min(drag[0][0], drag[1][0])}
          y={Math.min(drag[0][1], drag[1][1])}
          width={Math.abs(drag[1][0] - drag[0][0])}
          height={Math.abs(drag[1][1] - drag[0][1])}
        />
      )}
    </svg>
  );
}

/** Values at px: the axes are logarithmic, so px are shares of exponents. */
function backFrom({ extent, left, width, height }: Frame) {
  const at = ([from, to]: readonly [number, number], share: number) => from * (to / from) ** share;
  return {
    x: (px: number) => at(extent.x, (px - left) / (width - 8 - left)),
    y: (px: number) => at(extent.y, (height - BOTTOM - px) / (height - BOTTOM - TOP)),
  };
}

function radiusOf(dot: RoofDot | undefined): number {
  return Math.max(LEAST_RADIUS, Math.sqrt(Math.max(0, dot?.share ?? 0)) * MOST_RADIUS);
}

interface DotProps {
  readonly dot: RoofDot;
  readonly frame: Frame;
  readonly marked: boolean;
}

function Dot({ dot, frame, marked }: DotProps) {
  const [x, y] = [frame.toX(dot.x), frame.toY(dot.y)];
  const name = `roof-dot ${dot.hue}${marked ? " marked" : ""}`;
  if (dot.whole) return <path class={name} d={`M${x} ${y - 8}l8 8l-8 8l-8 -8z`} />;
  return <circle class={name} cx={x} cy={y} r={radiusOf(dot)} />;
}

interface PeakLineProps {
  readonly peak: Peak;
  readonly isFirst: boolean;
  readonly ceilings: readonly Ceiling[];
  readonly frame: Frame;
}

/** The flat roof of a type: from the steepest slope on, dashed below that of the fastest type. */
function PeakLine({ peak, isFirst, ceilings, frame }: PeakLineProps) {
  const { extent, toX, toY, width } = frame;
  const begin = toX(Math.max(extent.x[0], ridgeAt(peak.rate, ceilings) ?? extent.x[0]));
  const y = toY(peak.rate);
  return (
    <g class={isFirst ? "ceiling" : "ceiling lower"}>
      <path d={`M${begin} ${y}H${width - 8}`} />
      <text x={width - 10} y={isFirst ? y - 7 : y + 15} text-anchor="end">
        {peak.label}
      </text>
    </g>
  );
}

/** From a dot straight up to the rate that what bounds it would allow. */
function UpToRoof({ dot, frame }: { readonly dot: RoofDot; readonly frame: Frame }) {
  const [x, y, roof] = [frame.toX(dot.x), frame.toY(dot.y), frame.toY(dot.roof)];
  if (!Number.isFinite(roof)) return null;
  // The tip is on the other side.
  const isLeft = x < frame.width / 2 && x > frame.left + textWidth(dot.roofLabel, "normal", 12);
  return (
    <g class="up-to-roof" data-screen-only>
      <path d={`M${x} ${y}V${roof}M${x - 5} ${roof}h10`} />
      {y - roof > NAME_PX && (
        <text
          x={isLeft ? x - 6 : x + 6}
          y={(y + roof) / 2}
          text-anchor={isLeft ? "end" : "start"}
          dominant-baseline="central"
        >
          {dot.roofLabel}
        </text>
      )}
    </g>
  );
}

interface CeilingLineProps {
  readonly ceiling: Ceiling & { readonly label: string };
  /** Names of neighbours are at different places of their slopes. */
  readonly place: number;
  readonly frame: Frame;
  /** Room up to the next higher slope, px. */
  readonly above: number;
  readonly dots: readonly RoofDot[];
}

/** Room over the slope of a ceiling up to the next one, px. */
function gapAbove(ceilings: readonly Ceiling[], ceiling: Ceiling, { extent, toY }: Frame): number {
  const heightAt = ({ ridge, peak }: Ceiling) => toY((extent.x[0] * peak) / ridge);
  const own = heightAt(ceiling);
  const gaps = ceilings.map((each) => own - heightAt(each)).filter((gap) => gap > 0);
  return Math.min(Number.POSITIVE_INFINITY, ...gaps);
}

/** Shares of a slope at which its name may begin, after the one that is its own. */
const OTHER_PLACES = [0.12, 0.38, 0.64, 0.25, 0.5, 0.75];
const NAME_PX = 16;

function CeilingLine({ ceiling, place, frame, above, dots }: CeilingLineProps) {
  const { toX, toY, width, extent } = frame;
  const slope = slopeOf(ceiling, extent);
  if (!slope) return null;
  const [x1, y1, x2, y2] = [toX(slope.x1), toY(slope.y1), toX(slope.x2), toY(slope.y2)];
  const angle = (Math.atan2(y2 - y1, x2 - x1) * 180) / Math.PI;
  const [length, label] = [
    Math.hypot(x2 - x1, y2 - y1),
    textWidth(ceiling.label, "normal", 12) + 10,
  ];
  const room = length > label + 30;
  // A name between two lines that run close together would be struck through by the upper one.
  const offset = above < NAME_PX ? 15 : -6;
  /** Whether no dot covers a name that begins at this share of the slope. */
  const isFree = (share: number) => {
    const [cos, sin] = [(x2 - x1) / length, (y2 - y1) / length];
    return (
      share * length + label <= length &&
      dots.every((dot) => {
        const [dx, dy] = [toX(dot.x) - x1, toY(dot.y) - y1];
        const [forth, off] = [dx * cos + dy * sin - share * length, dy * cos - dx * sin];
        const aside = radiusOf(dot) + 4;
        return forth < -aside || forth > label + aside || Math.abs(off - offset + 4) > aside + 6;
      })
    );
  };
  const own = 0.12 + 0.26 * (place % 3);
  const along = [own, ...OTHER_PLACES].find(isFree) ?? own;
  return (
    <g class="ceiling">
      <path d={`M${x1} ${y1}L${x2} ${y2}H${width - 8}`} />
      {room && (
        <text
          transform={`translate(${x1 + (x2 - x1) * along} ${y1 + (y2 - y1) * along}) rotate(${angle})`}
          y={offset}
        >
          {ceiling.label}
        </text>
      )}
    </g>
  );
}

function Axes({ frame }: { frame: Frame }) {
  const { left, width, height, extent, toX, toY } = frame;
  const floor = height - BOTTOM;
  const x = powerTicks(...extent.x, Math.floor((width - left) / 80));
  const y = powerTicks(...extent.y, 6, roundRate);
  return (
    <g class="axis">
      {y.values.map((value, i) => (
        <g key={value}>
          <line x1={left} x2={width - 8} y1={toY(value)} y2={toY(value)} />
          <text x={left - 6} y={toY(value)} text-anchor="end" dominant-baseline="central">
            {y.labels[i]}
          </text>
        </g>
      ))}
      {x.values.map((value, i) => (
        <g key={value}>
          <line x1={toX(value)} x2={toX(value)} y1={TOP} y2={floor} />
          <text x={toX(value)} y={floor + 15} text-anchor="middle">
            {x.labels[i]}
          </text>
        </g>
      ))}
      <line class="base-line" x1={left} x2={width - 8} y1={floor} y2={floor} />
      <text x={left - 6} y={8} text-anchor="end" dominant-baseline="central">
        FLOP rate
      </text>
      <text x={width - 8} y={floor + 32} text-anchor="end">
        operational intensity, FLOP per byte
      </text>
    </g>
  );
}
