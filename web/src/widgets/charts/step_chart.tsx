/**
 * Steps as stacked columns. More steps than pixels share a column, which then shows the slowest of
 * them, so that no spike is lost. A drag selects; the arrow keys read the columns out.
 */

import { useId, useMemo, useRef, useState } from "preact/hooks";
import { duration, plural } from "../../base/format.ts";
import { momentTicks, type Ticks } from "../../engine/axes/ticks.ts";
import { type Bin, numberedBins, slowestBins } from "../../engine/charts/bins.ts";
import { readableTop, stackPaths } from "../../engine/charts/stacked_columns.ts";
import type { StepSeries } from "../../engine/charts/step_series.ts";
import { placeByKey } from "../../engine/key_step.ts";
import { useWidth } from "../element_width.ts";
import { textWidth } from "../text_width.ts";
import { StepTip } from "./step_tip.tsx";
import { partFill, Textures } from "./textures.tsx";

/** First and last index shown, both included. */
export type StepRange = readonly [number, number];

export interface StepChartProps {
  readonly series: StepSeries;
  readonly range: StepRange;
  /** Called with the range of a drag, null for all; null where there is nothing to select. */
  readonly onRange: ((range: StepRange | null) => void) | null;
  /** What is selected of them, drawn as a frame. */
  readonly selected?: StepRange | null;
  /** Called with the index of a step that is pressed. */
  readonly onChoose?: (step: number) => void;
  readonly medianMs: number | null;
  /** Show the tallest columns whole, however small the others get. */
  readonly whole: boolean;
}

const HEIGHT = 208;
const TOP = 14;
const BOTTOM = 22;
const LEAST_COLUMN_PX = 3;
const WIDEST_COLUMN_PX = 96;
/** Room on the right for the name of the median line. */
const MEDIAN_PX = 62;

export interface Geometry {
  readonly bins: readonly Bin[];
  readonly left: number;
  readonly pitch: number;
  readonly bar: number;
  readonly top: number;
  readonly y: (ms: number) => number;
}

function geometryOf(
  props: StepChartProps,
  width: number,
  left: number,
  right: number,
  top: number,
): Geometry {
  const [from, to] = props.range;
  const room = Math.max(LEAST_COLUMN_PX, width - left - right);
  const bins = slowestBins(props.series.totals, from, to, Math.floor(room / LEAST_COLUMN_PX));
  const pitch = Math.min(WIDEST_COLUMN_PX, room / bins.length);
  const bar = Math.max(1, pitch - (pitch >= 6 ? 1.5 : pitch >= 4 ? 0.8 : 0.3));
  const y = (ms: number) => HEIGHT - BOTTOM - (ms / (top || 1)) * (HEIGHT - TOP - BOTTOM);
  return { bins, left, pitch, bar, top, y };
}

export function StepChart(props: StepChartProps) {
  const { series, range, onRange } = props;
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box, 960);
  const scope = useId();
  const [marked, setMarked] = useState(-1);
  // Moves may arrive before the press has been drawn, so where it began is not in the drawn state.
  const dragFrom = useRef(-1);
  const [drag, setDrag] = useState<readonly [number, number] | null>(null);

  const visible = series.totals.subarray(range[0], range[1] + 1);
  const highest = useMemo(() => readableTop(visible), [visible]);
  const top = props.whole ? visible.reduce((a, b) => Math.max(a, b || 0), 0) : highest.top;
  const ticks = momentTicks(0, top, 4);
  const names = [...ticks.labels, series.noun ?? "step"];
  const left = Math.max(...names.map((label) => textWidth(label, "normal", 12))) + 10;
  const right = props.medianMs === null ? 4 : MEDIAN_PX;
  const shape = geometryOf(props, width, left, right, top);
  const placeAt = (clientX: number) => {
    const x = clientX - (box.current?.getBoundingClientRect().left ?? 0) - left;
    return Math.min(shape.bins.length - 1, Math.max(0, Math.floor(x / shape.pitch)));
  };
  const selectFrom = (a: number, b: number) => {
    const first = shape.bins[Math.min(a, b)];
    const last = shape.bins[Math.max(a, b)];
    if (first && last && last.last > first.first) onRange?.([first.first, last.last]);
  };
  const choose = (place: number) => {
    const chosen = shape.bins[place];
    if (chosen) props.onChoose?.(chosen.shown);
  };
  const endDrag = (clientX: number | null) => {
    const from = dragFrom.current;
    const to = clientX === null ? from : placeAt(clientX);
    dragFrom.current = -1;
    setDrag(null);
    if (from >= 0 && to !== from) selectFrom(from, to);
    else if (from >= 0 && clientX !== null) choose(from);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const goal = placeByKey(event.key, marked, shape.bins.length - 1);
    if (goal !== null) setMarked(goal);
    else if (event.key === " " && marked >= 0) choose(marked);
    else if (event.key === "Enter" && marked >= 0)
      selectFrom(Math.max(0, marked - 5), Math.min(shape.bins.length - 1, marked + 5));
    else if (event.key === "Escape") onRange?.(null);
    else return;
    event.preventDefault();
  };

  const bin = shape.bins[marked];
  return (
    <div
      ref={box}
      class="step-chart"
      role="group"
      tabIndex={0}
      aria-label={`Step times of ${plural(range[1] - range[0] + 1, series.noun ?? "step")}. Arrow keys read the values${props.onChoose ? ", Space shows details" : ""}${onRange ? ", Enter selects ten around it, Escape selects all" : ""}.`}
      onKeyDown={onKeyDown}
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        box.current?.setPointerCapture(event.pointerId);
        dragFrom.current = placeAt(event.clientX);
      }}
      onPointerMove={(event) => {
        const place = placeAt(event.clientX);
        setMarked(place);
        if (onRange && dragFrom.current >= 0) setDrag([dragFrom.current, place]);
      }}
      onPointerUp={(event) => {
        endDrag(event.clientX);
      }}
      onPointerCancel={() => endDrag(null)}
      onPointerLeave={() => setMarked(-1)}
      onBlur={() => setMarked(-1)}
    >
      <StepDrawing
        {...props}
        width={width}
        shape={shape}
        ticks={ticks}
        scope={scope}
        marked={marked}
        drag={drag}
      />
      {bin && (
        <StepTip
          series={series}
          bin={bin}
          x={left + (marked + 0.5) * shape.pitch}
          width={width}
          scope={scope}
        />
      )}
    </div>
  );
}

interface StepDrawingProps extends StepChartProps {
  readonly width: number;
  readonly shape: Geometry;
  readonly ticks: Ticks;
  readonly scope: string;
  readonly marked: number;
  readonly drag: readonly [number, number] | null;
}

function StepDrawing(props: StepDrawingProps) {
  const { series, width, shape, ticks, scope, marked, drag } = props;
  const { bins, left, pitch, bar, y, top } = shape;
  const at = (place: number) => left + place * pitch;
  const parts = series.layers.map((layer) => layer.part);
  const paths = useMemo(
    () =>
      stackPaths(
        series.layers.map(({ part, values }) => ({ id: part.id, values })),
        bins,
        at,
        bar,
        y,
        top,
      ),
    [series, props.range, width, top],
  );
  const floor = HEIGHT - BOTTOM;
  return (
    <svg width={width} height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} aria-hidden="true">
      <Textures parts={parts} scope={scope} />
      {ticks.values.map((value, i) => (
        <g key={value} class="axis">
          <line x1={left} x2={width} y1={y(value)} y2={y(value)} />
          <text x={left - 6} y={y(value)} text-anchor="end" dominant-baseline="central">
            {ticks.labels[i]}
          </text>
        </g>
      ))}
      {parts.map((part, i) => (
        <path key={part.id} d={paths[i]} {...partFill(part, scope)} />
      ))}
      <Uncounted {...props} floor={floor} />
      <CutMarks {...props} />
      <MedianLine medianMs={props.medianMs} shape={shape} width={width} />
      <StepAxis series={series} shape={shape} floor={floor} width={width} />
      <SelectedFrame {...props} floor={floor} />
      {marked >= 0 && (
        <rect
          data-screen-only
          class="step-mark"
          x={at(marked)}
          y={TOP}
          width={pitch}
          height={floor - TOP}
        />
      )}
      {drag && drag[0] !== drag[1] && (
        <rect
          data-screen-only
          class="step-brush"
          x={at(Math.min(...drag))}
          y={TOP}
          width={(Math.abs(drag[1] - drag[0]) + 1) * pitch}
          height={floor - TOP}
        />
      )}
    </svg>
  );
}

/** A frame around the columns that have selected steps. */
function SelectedFrame({ selected, shape, floor }: StepDrawingProps & { readonly floor: number }) {
  if (!selected) return null;
  const { bins, left, pitch } = shape;
  const first = bins.findIndex((bin) => bin.last >= selected[0]);
  const last = bins.findLastIndex((bin) => bin.first <= selected[1]);
  if (first < 0 || last < first) return null;
  return (
    <rect
      class="step-selected"
      x={left + first * pitch}
      y={TOP}
      width={(last - first + 1) * pitch}
      height={floor - TOP}
    />
  );
}

/** A veil over the steps that the averages leave out. */
function Uncounted({ series, shape, floor }: StepDrawingProps & { readonly floor: number }) {
  const { bins, left, pitch } = shape;
  return (
    <g class="step-uncounted">
      {bins.map((bin, place) =>
        series.kept[bin.shown] === false ? (
          <rect
            key={bin.first}
            x={left + place * pitch}
            y={TOP}
            width={pitch}
            height={floor - TOP}
          />
        ) : null,
      )}
    </g>
  );
}

/** A notch over each column that is taller than the axis. */
function CutMarks({ series, shape }: StepDrawingProps) {
  const { bins, left, pitch, bar, top, y } = shape;
  return (
    <g class="cut-mark">
      {bins.map((bin, place) => {
        if (!((series.totals[bin.shown] as number) > top * 1.0001)) return null;
        const middle = left + place * pitch + bar / 2;
        return <path key={bin.first} d={`M${middle - 4} ${y(top) - 3}l4 -6l4 6z`} />;
      })}
    </g>
  );
}

interface MedianLineProps {
  readonly medianMs: number | null;
  readonly shape: Geometry;
  readonly width: number;
}

function MedianLine({ medianMs, shape, width }: MedianLineProps) {
  if (medianMs === null || medianMs > shape.top) return null;
  const at = shape.y(medianMs);
  const end = width - MEDIAN_PX + 4;
  return (
    <g class="median">
      <line class="halo" x1={shape.left} x2={end} y1={at} y2={at} />
      <line x1={shape.left} x2={end} y1={at} y2={at} />
      <text x={end + 4} y={at - 2}>
        median
      </text>
      <text x={end + 4} y={at + 12}>
        {duration(medianMs, "ms")}
      </text>
    </g>
  );
}

interface StepAxisProps {
  readonly series: StepSeries;
  readonly shape: Geometry;
  readonly floor: number;
  readonly width: number;
}

function StepAxis({ series, shape, floor, width }: StepAxisProps) {
  const { bins, left, pitch } = shape;
  const about = Math.max(2, Math.floor((bins.length * pitch) / 90));
  return (
    <g class="axis">
      <line class="axis-base" x1={left} x2={width} y1={floor} y2={floor} />
      <text x={left - 6} y={floor + 15} text-anchor="end">
        {series.noun ?? "step"}
      </text>
      {numberedBins(bins, series.numbers, about).map(({ place, number }) => {
        const middle = left + (place + 0.5) * pitch;
        return (
          <text
            key={place}
            x={Math.max(left, middle)}
            y={floor + 15}
            text-anchor={middle < left + 16 ? "start" : "middle"}
          >
            {number}
          </text>
        );
      })}
    </g>
  );
}
