/**
 * A laid-out graph that is moved by dragging, enlarged by the wheel, and read by keys: arrows go
 * from box to box, Enter selects, + - 0 change the size. Only what is in view is drawn.
 */

import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { count } from "../../base/format.ts";
import {
  begun,
  type Camera,
  fitted,
  isSeen,
  moved,
  neighbourOf,
  showing,
  transformOf,
  type View,
  zoomed,
} from "../../engine/graph/camera.ts";
import {
  type Arc,
  arcPath,
  type Box,
  type Layout,
  layered,
} from "../../engine/graph/layered_layout.ts";
import { useWidth } from "../element_width.ts";

export interface GraphEdge extends Arc {
  readonly class?: string;
  /** Stroke width, px. */
  readonly weight?: number;
  readonly title?: string;
}

export interface GraphViewProps {
  readonly label: string;
  readonly boxes: readonly Box[];
  readonly edges: readonly GraphEdge[];
  /** The box the view begins at. */
  readonly centre: number;
  /** What is in a box, in its own px from its upper left corner. */
  readonly box: (index: number) => ComponentChildren;
  /** Class of a box: how it is outlined and filled. */
  readonly boxClass: (index: number) => string;
  /** What a box says, for the box under the pointer or reached by keys. */
  readonly tip: (index: number) => ComponentChildren;
  readonly onChoose?: (index: number) => void;
  readonly tallest?: number;
}

const TIP_PX = 320;
const WHEEL_STEP = 0.0015;
/** Layouts of more boxes than this take long enough to say so first. */
const INSTANT_BOXES = 300;

/** The layout, at once for small graphs, after the page was drawn for large ones. */
function useLayout(boxes: readonly Box[], edges: readonly GraphEdge[]): Layout | null {
  const small = boxes.length <= INSTANT_BOXES;
  const now = useMemo(() => (small ? layered(boxes, edges) : null), [boxes, edges]);
  const [later, setLater] = useState<{ of: readonly Box[]; layout: Layout } | null>(null);
  useEffect(() => {
    if (small) return;
    const timer = setTimeout(() => setLater({ of: boxes, layout: layered(boxes, edges) }), 30);
    return () => clearTimeout(timer);
  }, [boxes, edges]);
  return now ?? (later?.of === boxes ? later.layout : null);
}

export function GraphView(props: GraphViewProps) {
  const layout = useLayout(props.boxes, props.edges);
  if (!layout) {
    return (
      <p class="quiet" role="status">
        Arranging {count(props.boxes.length)} boxes…
      </p>
    );
  }
  return <LaidOut {...props} layout={layout} />;
}

const LEAST_HEIGHT = 120;
const PADDING_PX = 32;
/** A hand that presses moves so far without meaning it. */
const PRESS_PX = 4;

function LaidOut(props: GraphViewProps & { readonly layout: Layout }) {
  const { layout, boxes, onChoose, tallest = 560 } = props;
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame, 960);
  const height = Math.min(tallest, Math.max(LEAST_HEIGHT, layout.height + PADDING_PX));
  const view: View = useMemo(() => ({ width, height }), [width, height]);
  const start = useMemo(
    () => begun(layout, view, layout.places[props.centre]),
    [layout, view, props.centre],
  );
  const [camera, setCamera] = useState(start);
  const [marked, setMarked] = useState(-1);
  useEffect(() => setCamera(start), [start]);
  useEffect(() => setMarked(-1), [layout]);
  useWheel(frame, view, setCamera);
  const drag = useDrag(frame, (dx, dy) => {
    setMarked(-1);
    setCamera((before) => moved(before, dx, dy));
  });
  const size = (factor: number | null) =>
    setCamera((last) => (factor === null ? fitted(layout, view) : enlarged(last, factor, view)));
  const mark = (index: number) => {
    const place = layout.places[index];
    const box = boxes[index];
    if (!place || !box) return;
    setMarked(index);
    setCamera((last) => showing(last, place, box, view));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const { key } = event;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (isArrow(key)) {
      mark(marked < 0 ? Math.max(0, props.centre) : neighbourOf(layout.places, marked, key));
    } else if (key === "Enter" && marked >= 0 && onChoose) onChoose(marked);
    else if (key in SIZE_KEYS) size(SIZE_KEYS[key] ?? null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const seen = { ...props, view, camera, marked };
  return (
    <div class="graph-frame">
      <div
        ref={frame}
        class="graph-view"
        role="group"
        tabIndex={0}
        aria-label={`${props.label}. Arrow keys move from box to box${onChoose ? ", Enter selects" : ""}, plus and minus zoom, 0 shows all.`}
        onKeyDown={onKeyDown}
        {...drag.handlers}
        onPointerLeave={() => setMarked(-1)}
        onBlur={() => setMarked(-1)}
      >
        <GraphDrawing {...seen} onMark={(index) => drag.isMoving() || setMarked(index)} />
        {marked >= 0 && <GraphTip {...seen} />}
      </div>
      <GraphSizes onSize={size} />
    </div>
  );
}

const LARGER = 1.25;

/** Factors of the keys that change the size; null shows all. */
const SIZE_KEYS: Readonly<Record<string, number | null>> = {
  "+": LARGER,
  "=": LARGER,
  "-": 1 / LARGER,
  "0": null,
};

type ArrowKey = Parameters<typeof neighbourOf>[2];

function isArrow(key: string): key is ArrowKey {
  return key === "ArrowLeft" || key === "ArrowRight" || key === "ArrowUp" || key === "ArrowDown";
}

/** Enlarged about the middle of the view. */
function enlarged(camera: Camera, factor: number, view: View): Camera {
  return zoomed(camera, factor, { x: view.width / 2, y: view.height / 2 }, view);
}

function GraphSizes({ onSize }: { onSize: (factor: number | null) => void }) {
  return (
    <div class="graph-sizes">
      <button type="button" class="button" aria-label="Zoom in" onClick={() => onSize(LARGER)}>
        +
      </button>
      <button type="button" class="button" aria-label="Zoom out" onClick={() => onSize(1 / LARGER)}>
        −
      </button>
      <button type="button" class="button" onClick={() => onSize(null)}>
        All
      </button>
    </div>
  );
}

/** Moves of a pointer that is held down, from the moment they are more than a press. */
function useDrag(
  frame: { readonly current: HTMLDivElement | null },
  onMove: (dx: number, dy: number) => void,
) {
  const drag = useRef<{ x: number; y: number; far: boolean } | null>(null);
  const end = () => {
    drag.current = null;
  };
  return {
    isMoving: () => drag.current?.far ?? false,
    handlers: {
      onPointerDown: (event: PointerEvent) => {
        if (event.button !== 0) return;
        drag.current = { x: event.clientX, y: event.clientY, far: false };
      },
      onPointerMove: (event: PointerEvent) => {
        const last = drag.current;
        if (!last) return;
        const [dx, dy] = [event.clientX - last.x, event.clientY - last.y];
        if (!last.far && Math.hypot(dx, dy) < PRESS_PX) return;
        if (!last.far) frame.current?.setPointerCapture(event.pointerId);
        drag.current = { x: event.clientX, y: event.clientY, far: true };
        onMove(dx, dy);
      },
      onPointerUp: end,
      onPointerCancel: end,
    },
  };
}

/** The wheel over a drawing changes its size; with Ctrl only, so that pages still scroll. */
function useWheel(
  frame: { readonly current: HTMLDivElement | null },
  view: View,
  setCamera: (change: (camera: Camera) => Camera) => void,
): void {
  useEffect(() => {
    const element = frame.current;
    if (!element) return;
    const onWheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const rect = element.getBoundingClientRect();
      const at = { x: event.clientX - rect.left, y: event.clientY - rect.top };
      setCamera((last) => zoomed(last, Math.exp(-event.deltaY * WHEEL_STEP * 4), at, view));
    };
    // Preact's own listener would be passive, and then could not keep the page from zooming.
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  }, [view]);
}

interface GraphDrawingProps extends GraphViewProps {
  readonly layout: Layout;
  readonly view: View;
  readonly camera: Camera;
  readonly marked: number;
  readonly onMark: (index: number) => void;
}

function GraphDrawing(props: GraphDrawingProps) {
  const { layout, view, camera, boxes, edges, marked, onMark, onChoose } = props;
  const paths = useMemo(() => layout.bends.map(arcPath), [layout]);
  const seen = layout.places.map((place, i) => isSeen(camera, place, boxes[i] as Box, view));
  return (
    <svg width={view.width} height={view.height} aria-hidden="true">
      <defs>
        <marker
          id="graph-arrow"
          viewBox="0 0 8 8"
          refX="7"
          refY="4"
          markerWidth="7"
          markerHeight="7"
          markerUnits="userSpaceOnUse"
          orient="auto"
        >
          <path d="M0 0L8 4L0 8z" class="graph-arrow" />
        </marker>
      </defs>
      <g transform={transformOf(camera, view)}>
        {edges.map((edge, i) => {
          // An edge may cross the view though neither of its boxes is in it: long ones are drawn.
          if (!seen[edge.from] && !seen[edge.to] && (layout.bends[i]?.length ?? 0) < 3) return null;
          const near = marked >= 0 && (edge.from === marked || edge.to === marked);
          return (
            <path
              key={i}
              d={paths[i]}
              class={`graph-edge ${edge.class ?? ""}${near ? " marked" : ""}`}
              stroke-width={edge.weight ?? 1.2}
              marker-end="url(#graph-arrow)"
            >
              {edge.title && <title>{edge.title}</title>}
            </path>
          );
        })}
        {layout.places.map((place, i) => {
          if (!seen[i]) return null;
          const { width, height } = boxes[i] as Box;
          return (
            <g
              key={i}
              class={`graph-box ${props.boxClass(i)}${i === marked ? " marked" : ""}`}
              transform={`translate(${(place.x - width / 2).toFixed(1)} ${(place.y - height / 2).toFixed(1)})`}
              onPointerEnter={() => onMark(i)}
              onPointerLeave={() => onMark(-1)}
              onClick={() => onChoose?.(i)}
            >
              <rect class="graph-outline" width={width} height={height} rx={4} />
              {props.box(i)}
            </g>
          );
        })}
      </g>
    </svg>
  );
}

function GraphTip(
  props: GraphViewProps & { layout: Layout; view: View; camera: Camera; marked: number },
) {
  const { layout, view, camera, marked, boxes } = props;
  const place = layout.places[marked];
  const box = boxes[marked];
  if (!place || !box) return null;
  const half = (box.width / 2) * camera.scale;
  const x = view.width / 2 + (place.x - camera.x) * camera.scale;
  const y = view.height / 2 + (place.y - camera.y - box.height / 2) * camera.scale;
  const right = x + half + 10 + TIP_PX <= view.width;
  const left = right ? x + half + 10 : x - half - 10 - TIP_PX;
  return (
    <div
      class="tip"
      role="status"
      style={{
        left: `${Math.max(0, left)}px`,
        top: `${Math.max(0, y)}px`,
        width: `${TIP_PX}px`,
      }}
    >
      {props.tip(marked)}
    </div>
  );
}
