/** The answer to a query as a track below the ruler: drawn, read by pointer and keys. */

import { batch } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { getQueryLanes } from "../../api/queries.ts";
import type { QueryLanesInfo } from "../../api/types.gen.ts";
import { duration, plural } from "../../base/format.ts";
import { shortName } from "../../base/short_name.ts";
import { shortened, visible } from "../../base/text.ts";
import { placeByKey } from "../../engine/key_step.ts";
import { type DrawnRow, drawnRows, extentOf, rowUnder } from "../../engine/query_rows.ts";
import { axisTime } from "../../engine/timeline/time_axis.ts";
import { framed, revealing } from "../../engine/timeline/viewport.ts";
import { onTheme } from "../../widgets/theme.ts";
import { troubleOf } from "../model/tile_loader.ts";
import { type Palette, readPalette } from "../paint/palette.ts";
import type { Timeline } from "./timeline.ts";

const LANE_PX = 17;
/** More lanes would leave no room for the tracks. */
const MOST_LANES = 8;
const LONGEST_NAME = 120;
const LETTER_PX = 6.5;
const CARD_PX = 320;

interface QueryLaneProps {
  readonly timeline: Timeline;
  readonly query: string;
  readonly onClose: () => void;
}

export function QueryLane({ timeline, query, onClose }: QueryLaneProps) {
  const { rows, problem } = useRows(timeline, query);
  const said = rows
    ? `${rows.cut ? "the first " : ""}${plural(rows.begin_ps.length, "row")}${hiddenLanes(rows)}`
    : problem || "Running …";
  return (
    <div class="tl-query">
      <div class="tl-corner" title={query}>
        Query{" "}
        <span class="quiet" role="status">
          {said}
        </span>{" "}
        <button type="button" class="tl-link" onClick={onClose}>
          Close
        </button>
      </div>
      {rows && <Lanes timeline={timeline} rows={rows} />}
    </div>
  );
}

/** What is not drawn: rows that lie over more others than there is room for. */
function hiddenLanes({ lanes }: QueryLanesInfo): string {
  return lanes > MOST_LANES ? `, ${MOST_LANES} of ${lanes} lanes drawn` : "";
}

interface Answered {
  readonly rows: QueryLanesInfo | null;
  readonly problem: string;
}

function useRows(timeline: Timeline, query: string): Answered {
  const [answer, setAnswer] = useState<Answered>({ rows: null, problem: "" });
  useEffect(() => {
    const control = new AbortController();
    setAnswer({ rows: null, problem: "" });
    getQueryLanes(timeline.scope, query, control.signal)
      .then((rows) => {
        setAnswer({ rows, problem: "" });
        // A track of which nothing is in view would look as if there were nothing.
        const { view, whole } = timeline.state;
        const extent = extentOf(rows);
        if (extent && drawnRows(rows, view.value, 1).length === 0) {
          view.value = framed(extent, whole);
        }
      })
      .catch((error: unknown) => {
        if (!control.signal.aborted) setAnswer({ rows: null, problem: troubleOf(error).what });
      });
    return () => control.abort();
  }, [timeline, query]);
  return answer;
}

function Lanes({ timeline, rows }: { timeline: Timeline; rows: QueryLanesInfo }) {
  const { state } = timeline;
  const canvas = useRef<HTMLCanvasElement>(null);
  const [marked, setMarked] = useState(-1);
  const { width } = state.size.value;
  const view = state.view.value;
  const height = Math.max(1, Math.min(rows.lanes, MOST_LANES)) * LANE_PX + 3;
  const drawn = drawnRows(rows, view, Math.max(1, width));
  useEffect(() => {
    const element = canvas.current;
    if (!element || width < 1) return;
    const paint = () => {
      const palette = readPalette(element.parentElement as HTMLElement, timeline.meta);
      draw(element, rows, drawn, palette, { width, height, marked });
    };
    paint();
    return onTheme(paint);
  }, [rows, view, width, marked]);
  const choose = (row: number) => {
    setMarked(row);
    const span = {
      begin: rows.begin_ps[row] as number,
      end: Math.max(rows.end_ps[row] as number, (rows.begin_ps[row] as number) + 1),
    };
    const event = rows.event[row] ?? -1;
    batch(() => {
      if (event >= 0) state.select(event);
      else state.chooseRange({ span, tracks: null });
      state.view.value = revealing(state.view.value, span, state.whole);
    });
  };
  const onPointerMove = (event: PointerEvent) => {
    const lane = Math.floor(event.offsetY / LANE_PX);
    setMarked(rowUnder(drawn, lane, event.offsetX));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const goal = placeByKey(event.key, marked, rows.begin_ps.length - 1);
    if (goal === null) return;
    event.preventDefault();
    event.stopPropagation();
    choose(goal);
  };
  return (
    <div
      role="group"
      tabIndex={0}
      aria-label={`Rows of the query: ${rows.begin_ps.length}. Arrow keys go from row to row.`}
      onKeyDown={onKeyDown}
      onBlur={() => setMarked(-1)}
    >
      <canvas
        ref={canvas}
        style={{ width: `${width}px`, height: `${height}px` }}
        onPointerMove={onPointerMove}
        onPointerLeave={() => setMarked(-1)}
        onClick={() => marked >= 0 && choose(marked)}
      />
      <Card rows={rows} drawn={drawn.find(({ row }) => row === marked)} width={width} />
    </div>
  );
}

interface CardProps {
  readonly rows: QueryLanesInfo;
  readonly drawn: DrawnRow | undefined;
  readonly width: number;
}

function Card({ rows, drawn, width }: CardProps) {
  if (!drawn) return null;
  const [begin, end] = [rows.begin_ps[drawn.row] as number, rows.end_ps[drawn.row] as number];
  const left = Math.max(0, Math.min(drawn.left, width - CARD_PX));
  return (
    <div class="tl-card" style={{ left: `calc(var(--tl-gutter) + ${left}px)`, top: "100%" }}>
      <strong>{shortened(shortName(rows.name[drawn.row] ?? ""), LONGEST_NAME)}</strong>
      <span>
        {duration(end - begin, "ps")} at {axisTime(begin)}
      </span>
    </div>
  );
}

function draw(
  element: HTMLCanvasElement,
  rows: QueryLanesInfo,
  drawn: readonly DrawnRow[],
  { theme }: Palette,
  { width, height, marked }: { width: number; height: number; marked: number },
): void {
  const dpr = window.devicePixelRatio || 1;
  element.width = Math.round(width * dpr);
  element.height = Math.round(height * dpr);
  const context = element.getContext("2d");
  if (!context) return;
  context.setTransform(dpr, 0, 0, dpr, 0, 0);
  context.font = `11px ${getComputedStyle(element).fontFamily}`;
  context.textBaseline = "middle";
  for (const { row, left, right, lane } of drawn) {
    if (lane >= MOST_LANES) continue;
    const y = 2 + lane * LANE_PX;
    const wide = right - left;
    context.fillStyle = row === marked ? theme.fg : theme.picked;
    context.fillRect(left, y, wide > 3 ? wide - 1 : wide, LANE_PX - 1);
    const letters = Math.floor((wide - 8) / LETTER_PX);
    if (letters < 3) continue;
    context.fillStyle = theme.bg;
    context.fillText(
      shortened(visible(shortName(rows.name[row] ?? "")), letters),
      left + 4,
      y + LANE_PX / 2,
    );
  }
}
