/** Memory viewer: the heap of a compiled program in its own order, and what is alive at each point. */

import { useMemo } from "preact/hooks";
import { byName, numbersOf, rowsWhere, textsOf } from "../../api/columns.ts";
import type { MemoryViewer as HeapResult } from "../../api/types.gen.ts";
import { bytes, count, percent, plural } from "../../base/format.ts";
import { shortened, visible } from "../../base/text.ts";
import { byteTicks, wholeTicks } from "../../engine/axes/ticks.ts";
import { greatest } from "../../engine/charts/curve.ts";
import { ChartFrame } from "../../widgets/charts/chart_frame.tsx";
import { type Line, LineChart, LineKey } from "../../widgets/charts/line_chart.tsx";
import { TipFacts } from "../../widgets/charts/tip_facts.tsx";
import { TopBars } from "../../widgets/charts/top_bars.tsx";
import type { Fact } from "../../widgets/facts.tsx";
import { Grid } from "../../widgets/grid/grid.tsx";
import { Picker } from "../../widgets/overlay/picker.tsx";
import { ToolFrame } from "../sections/frame.tsx";
import {
  type ToolPageProps,
  useFirst,
  useTable,
  useWithoutConstants,
} from "../sections/tool_page.tsx";

type HeapProps = ToolPageProps<HeapResult>;

const CHOSEN = "view.point";
const HEADROOM = 1.06;
const MOST_BARS = 12;
const MOST_IN_TIP = 5;
const FIRST = ["instruction", "size_bytes", "padding_bytes", "padding_frac", "group", "shape"];

/** The memory space that is shown, in words. */
function spaceName({ memory_space, memory_spaces, memory_space_names }: HeapResult): string {
  return memory_space_names[memory_spaces.indexOf(memory_space)] ?? "";
}

export function MemoryViewer(props: HeapProps) {
  const { result, params } = props;
  const last = result.timeline.rows - 1;
  const wanted = Number(params[CHOSEN] ?? Number.NaN);
  const point = wanted >= 0 && wanted <= last ? wanted : placeOf(result, result.peak_step);
  return (
    <ToolFrame
      headline={headline(result)}
      figures={figures(result)}
      result={result}
      picker={<Choices {...props} />}
    >
      <Heap {...props} point={point} />
      <Alive {...props} point={point} />
      <PeakGroups {...props} />
      <AllBuffers {...props} />
    </ToolFrame>
  );
}

/** Row of a step in the heap over time. */
function placeOf({ timeline }: HeapResult, step: number): number {
  return Math.max(0, timeline.columns.step.indexOf(step));
}

function headline(result: HeapResult): string {
  const name = visible(result.program);
  const where = spaceName(result);
  if (result.peak_bytes === 0) return `${name} uses no ${where}.`;
  const at = result.peak_instruction ? `, reached at ${visible(result.peak_instruction)}` : "";
  return `${name} has ${bytes(result.peak_bytes)} of ${where} in use at its peak${at}.`;
}

function Choices({ result, params, onParams }: HeapProps) {
  const { program, program_id, allocated_bytes, host } = result.programs.columns;
  const several = new Set(host).size > 1;
  return (
    <div class="pickers">
      <Picker
        what="Program"
        name="Programs"
        placeholder="Find a program"
        current={result.program_id}
        choices={textsOf(program).map((label, row) => ({
          id: program_id[row] ?? "",
          label,
          detail: [
            `allocates ${bytes(allocated_bytes[row] ?? 0)}`,
            several ? visible(host[row] ?? "") : "",
          ]
            .filter(Boolean)
            .join(", "),
        }))}
        onChoose={(id) => onParams({ ...params, program: id, memory_space: "", [CHOSEN]: "" })}
      />
      <Picker
        what="Memory"
        name="Memory spaces"
        placeholder="Find a memory space"
        current={String(result.memory_space)}
        choices={result.memory_spaces.map((space, place) => ({
          id: String(space),
          label: result.memory_space_names[place] ?? "",
        }))}
        onChoose={(id) => onParams({ ...params, memory_space: id === "0" ? "" : id, [CHOSEN]: "" })}
      />
    </div>
  );
}

function figures(result: HeapResult): Fact[] {
  const padding = result.peak_bytes - result.peak_unpadded_bytes;
  const share = result.peak_bytes > 0 ? ` (${percent(padding / result.peak_bytes)})` : "";
  return [
    {
      label: "Peak",
      value: bytes(result.peak_bytes),
      note: `at point ${count(result.peak_step)} of ${count(result.timeline.rows)}`,
    },
    { label: "Padding at the peak", value: bytes(padding), note: `from tiled shapes${share}` },
    {
      label: "Temporary",
      value: bytes(result.temporary_bytes),
      note: "blocks reused by several values",
    },
    {
      label: "Parameters and results",
      value: bytes(result.parameter_bytes + result.output_bytes),
      note: `${bytes(result.parameter_bytes)} in, ${bytes(result.output_bytes)} out`,
    },
    {
      label: "Allocated",
      value: bytes(result.allocated_bytes),
      note: `${bytes(result.constant_bytes)} of it constants`,
    },
  ];
}

interface PointProps extends HeapProps {
  /** Row of the chosen point in the heap over time. */
  readonly point: number;
}

function Heap(props: PointProps) {
  const { result, point, params, onParams } = props;
  const { columns, rows } = result.timeline;
  const timeline = useTable(props, "timeline", result.timeline);
  const xs = useMemo(() => numbersOf(columns.step), [result]);
  const lines = useMemo(() => linesOf(result), [result]);
  if (rows < 2) {
    return (
      <section>
        <h2>Heap in program order</h2>
        <p class="quiet">{result.source_text}.</p>
      </section>
    );
  }
  const instructions = textsOf(columns.instruction);
  return (
    <ChartFrame
      title="Heap in program order"
      note={`${plural(rows, "point")} in program order, ${result.source_text}; click to see what is live`}
      file={`${result.session} heap ${result.program}`}
      table={() => (
        <Grid
          {...timeline}
          label="Points of the program"
          noun={["point", "points"]}
          maxRows={12}
          sums={false}
        />
      )}
    >
      <LineChart
        label={`Memory in use over ${plural(rows, "point")} of the program`}
        xs={xs}
        lines={lines}
        stepwise
        span={[xs[0] ?? 0, (xs[rows - 1] ?? 0) + 1]}
        xName="point"
        xTicks={wholeTicks}
        yTicks={byteTicks}
        top={greatest(columns.used_bytes.map((value) => value ?? 0)) * HEADROOM}
        markers={[
          {
            x: result.peak_step,
            y: result.peak_bytes,
            label: `peak ${bytes(result.peak_bytes)}`,
          },
        ]}
        chosen={point}
        onChoose={(row) => onParams({ ...params, [CHOSEN]: String(row) })}
        tip={(row) => (
          <TipFacts
            title={`Point ${columns.step[row] ?? 0}`}
            facts={[
              ["Before", instructions[row] ?? ""],
              ["In use", bytes(columns.used_bytes[row] ?? 0)],
              ["Unpadded", bytes(columns.unpadded_bytes[row] ?? 0)],
              ...largestAlive(result, columns.step[row] ?? 0),
            ]}
          />
        )}
      />
      <LineKey lines={lines} />
    </ChartFrame>
  );
}

function linesOf({ timeline: { columns } }: HeapResult): Line[] {
  const used = numbersOf(columns.used_bytes);
  const unpadded = numbersOf(columns.unpadded_bytes);
  const area: Line = {
    id: "used",
    label: "In use",
    hue: "hue-a",
    values: used,
    form: "area",
    axis: "left",
  };
  if (used.every((value, i) => value === unpadded[i])) return [area];
  return [
    area,
    {
      id: "unpadded",
      label: "Without padding",
      hue: "hue-b",
      values: unpadded,
      form: "line",
      axis: "left",
    },
  ];
}

/**
 * Whether a buffer holds memory before a point: a temporary one from after its first step, every
 * other one all along.
 */
function isAlive(result: HeapResult, row: number, step: number): boolean {
  const { group, first_step, last_step, at_peak } = result.buffers.columns;
  if (step === result.peak_step) return at_peak[row] === true;
  const [first, last] = [first_step[row], last_step[row]];
  if (group[row] !== "Temporary") return true;
  return first != null && last != null && first < step && step <= last;
}

/** The largest buffers alive at a point, for its tip: size and instruction. */
function largestAlive(result: HeapResult, step: number): (readonly [string, string])[] {
  const { size_bytes: sizes, instruction } = result.buffers.columns;
  const alive = Array.from(sizes.keys()).filter((row) => isAlive(result, row, step));
  alive.sort((a, b) => (sizes[b] ?? 0) - (sizes[a] ?? 0));
  return alive
    .slice(0, MOST_IN_TIP)
    .map((row) => [bytes(sizes[row] ?? 0), textsOf([instruction[row] ?? ""])[0] ?? ""]);
}

function Alive(props: PointProps) {
  const { result, point } = props;
  const step = result.timeline.columns.step[point] ?? 0;
  const alive = useMemo(
    () => rowsWhere(result.buffers, (row) => isAlive(result, row, step)),
    [result, step],
  );
  const { binding, said } = useWithoutConstants(
    useFirst(useTable(props, "buffers", alive, "alive"), FIRST),
  );
  const sizes = numbersOf((alive.columns.size_bytes ?? []) as (number | null)[]);
  const names = textsOf((alive.columns.instruction ?? []) as (string | null)[]);
  const shapes = textsOf((alive.columns.shape ?? []) as (string | null)[]);
  const largest = Array.from(sizes.keys())
    .filter((row) => (sizes[row] as number) > 0)
    .sort((a, b) => (sizes[b] as number) - (sizes[a] as number))
    .slice(0, MOST_BARS);
  const isPeak = step === result.peak_step;
  const at = isPeak ? "At the peak" : `At point ${step}`;
  // Memory at a point is what the instructions before it have taken: the last of them led there.
  const instruction = textsOf([result.timeline.columns.instruction[point - 1] ?? ""])[0];
  return (
    <ChartFrame
      title={`${at}: the largest of ${plural(alive.rows, "buffer")}`}
      note={instruction ? `reached at ${shortened(instruction, 60)}` : ""}
      file={`${result.session} buffers ${result.program} ${step}`}
      table={() => (
        <>
          {said && <p class="quiet">{said}</p>}
          <Grid
            {...binding}
            label="Live buffers"
            noun={["buffer", "buffers"]}
            maxRows={14}
            sums={false}
          />
        </>
      )}
    >
      {largest.length > 0 ? (
        <TopBars
          label={`Largest buffers ${at.toLowerCase()}`}
          bars={largest.map((row) => ({
            label: names[row] || "(no name)",
            value: sizes[row] as number,
            text: `${bytes(sizes[row] as number)} ${shortened(shapes[row] ?? "", 40)}`,
          }))}
        />
      ) : (
        <p class="quiet">No buffer is live here.</p>
      )}
    </ChartFrame>
  );
}

function PeakGroups(props: HeapProps) {
  const groups = useTable(props, "peak_groups", props.result.peak_groups);
  if (groups.table.rows === 0) return null;
  return (
    <section>
      <h2>At the peak, by kind</h2>
      <Grid {...groups} label="Kinds of buffers" plain />
    </section>
  );
}

function AllBuffers(props: HeapProps) {
  const { result } = props;
  const { binding, said } = useWithoutConstants(
    useFirst(useTable(props, "buffers", byName(result.buffers)), FIRST),
  );
  return (
    <section>
      <header class="section-head">
        <h2>All buffers</h2>
        <p class="quiet">Some share memory: their sizes do not add up. {said}</p>
      </header>
      {result.buffers.rows > 0 ? (
        <Grid {...binding} label="Buffers" noun={["buffer", "buffers"]} sums={false} />
      ) : (
        <p class="quiet">The program has none in {spaceName(result)}.</p>
      )}
    </section>
  );
}
