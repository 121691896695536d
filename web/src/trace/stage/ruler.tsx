/** The ruler: round times, steps, marks and the chosen range with its length. */

import { duration } from "../../base/format.ts";
import { shortened, visible } from "../../base/text.ts";
import type { Span } from "../../base/timeline.ts";
import { type Screen, xOf } from "../../engine/timeline/screen.ts";
import { stepBlocks } from "../../engine/timeline/step_blocks.ts";
import { axisTime, rulerTicks, tickTexts } from "../../engine/timeline/time_axis.ts";
import type { TimelineState } from "../model/state.ts";
import { TICKS_APART_PX } from "../paint/ground.ts";
import type { Timeline } from "./timeline.ts";

const CHARACTER_PX = 7;
const NOTE_CHARACTERS = 40;

export function Ruler({ timeline }: { timeline: Timeline }) {
  const { state } = timeline;
  const screen = state.screen.value;
  if (screen.width < 1) return <div class="tl-ruler" />;
  const times = rulerTicks(screen.view, screen.width, TICKS_APART_PX);
  const texts = tickTexts(times);
  const range = state.drawing.value ?? state.range.value?.span ?? null;
  return (
    <div class="tl-ruler">
      <div class="tl-corner quiet">
        {duration(screen.view.end - screen.view.begin, "ps")} in view
      </div>
      <svg class="tl-scale" width={screen.width} height={38} aria-hidden="true">
        {times.map((time, place) => (
          <Tick
            key={time}
            x={Math.round(xOf(screen, time))}
            text={texts[place] ?? ""}
            width={screen.width}
          />
        ))}
        <Steps state={state} screen={screen} />
        {state.marks.value.map((mark) => (
          <Mark key={mark} screen={screen} time={mark} note={state.notes.value.get(mark) ?? ""} />
        ))}
      </svg>
      {range && <Measured screen={screen} range={range} />}
      <Marks state={state} />
    </div>
  );
}

/** A tick; one at the right edge has no room for its time. */
function Tick({ x, text, width }: { x: number; text: string; width: number }) {
  return (
    <g transform={`translate(${x} 0)`}>
      <line class="tl-tick" y1={0} y2={18} />
      {x + 3 + text.length * CHARACTER_PX < width && (
        <text x={3} y={12}>
          {text}
        </text>
      )}
    </g>
  );
}

/** Steps of the first host that has any, as blocks with their numbers. */
function Steps({ state, screen }: { state: TimelineState; screen: Screen }) {
  const steps = state.meta.steps[0];
  if (!steps) return null;
  return (
    <>
      {stepBlocks(steps, screen.view, screen.width).map(({ x, width, text, count, odd }) => (
        <g key={x}>
          <rect
            class={`tl-stepblock ${odd ? "odd" : ""} ${count > 1 ? "many" : ""}`}
            x={x}
            y={20}
            width={width}
            height={16}
          />
          {width > 12 + text.length * CHARACTER_PX && (
            <text x={x + 4} y={32}>
              {text}
            </text>
          )}
        </g>
      ))}
    </>
  );
}

interface MarkProps {
  readonly screen: Screen;
  readonly time: number;
  readonly note: string;
}

function Mark({ screen, time, note }: MarkProps) {
  const x = xOf(screen, time);
  if (x < 0 || x > screen.width) return null;
  return (
    <g class="tl-mark" transform={`translate(${x} 0)`}>
      <path d="M0 38l-5-7v-6h10v6z" />
      {note && (
        <text x={8} y={34}>
          {shortened(visible(note), NOTE_CHARACTERS)}
        </text>
      )}
      <title>{[axisTime(time), visible(note)].filter(Boolean).join(": ")}</title>
    </g>
  );
}

function Measured({ screen, range }: { screen: Screen; range: Span }) {
  const left = Math.max(0, xOf(screen, range.begin));
  const right = Math.min(screen.width, xOf(screen, range.end));
  if (right <= left) return null;
  return (
    <div class="tl-measured" style={{ left: `calc(var(--tl-gutter) + ${(left + right) / 2}px)` }}>
      {duration(range.end - range.begin, "ps")}
    </div>
  );
}

/** Times between neighbouring marks, in words for who cannot see them. */
function Marks({ state }: { state: TimelineState }) {
  const marks = [...state.marks.value].sort((a, b) => a - b);
  if (marks.length === 0) return null;
  const gaps = marks.slice(1).map((mark, i) => duration(mark - (marks[i] as number), "ps"));
  return (
    <p class="tl-marks" role="status">
      {marks.length === 1
        ? `Mark at ${axisTime(marks[0] as number)}`
        : `Between marks: ${gaps.slice(0, 4).join("; ")}${gaps.length > 4 ? " …" : ""}`}{" "}
      <button
        type="button"
        class="tl-link"
        onClick={() => {
          state.marks.value = [];
        }}
      >
        Remove
      </button>
    </p>
  );
}
