/** Memory: how full each memory got, its use over time, and what held the bytes at the peak. */

import { useMemo } from "preact/hooks";
import { byName, rowsWhere } from "../../api/columns.ts";
import type { MemorySystem } from "../../api/types.gen.ts";
import type { ColumnarTable } from "../../base/columns.ts";
import {
  bytes,
  count,
  duration,
  MISSING,
  percent,
  plural,
  significant,
  wholePercent,
} from "../../base/format.ts";
import { visible, withUnits } from "../../base/text.ts";
import { ChartFrame } from "../../widgets/charts/chart_frame.tsx";
import { TopBars } from "../../widgets/charts/top_bars.tsx";
import { type Fact, Facts, Figures } from "../../widgets/facts.tsx";
import { Grid } from "../../widgets/grid/grid.tsx";
import { Picker } from "../../widgets/overlay/picker.tsx";
import { PlainTable } from "../../widgets/plain_table.tsx";
import { Segments } from "../../widgets/segments.tsx";
import { Diagnostics } from "../sections/diagnostics.tsx";
import { useTable, useWithoutConstants } from "../sections/tool_page.tsx";
import { HoldersNow, HoldersOverTime, hasLayers } from "./holders.tsx";
import type { MemoryProps } from "./props.ts";
import { UsageChart } from "./usage_chart.tsx";

const CHOSEN = "view.memory";
const MOST_BARS = 16;
const VIEW = "view.chart";
const EVENTS = "events";
const VIEWS = ["holders", EVENTS];

export function MemoryProfile(props: MemoryProps) {
  const { result, params, onParams } = props;
  const memory =
    result.memories.find((each) => each.id === params[CHOSEN]) ??
    (result.memories[0] as MemorySystem | undefined);
  if (!memory) return <Diagnostics diagnostics={result.diagnostics} />;
  const choose = (id: string) => onParams({ ...params, [CHOSEN]: id });
  return (
    <div class="tool-page">
      <header class="answer">
        <h2>{withUnits(headline(memory))}</h2>
        <p class="quiet">Source: {memory.source}.</p>
        <Picker
          what="Memory"
          name="Memories"
          placeholder="Find a memory or device"
          current={memory.id}
          onChoose={choose}
          choices={result.memories.map((each) => ({
            id: each.id,
            label: visible(each.id),
            detail: [each.device, each.host, `peak ${bytes(each.peak_bytes)}`]
              .filter(Boolean)
              .map(visible)
              .join(", "),
          }))}
        />
      </header>
      <Figures figures={figures(memory)} />
      <OverTime {...props} memory={memory} />
      <Breakdown {...props} memory={memory} />
      <AtPeak memory={memory} />
      {result.memories.length > 1 && <AllMemories {...props} />}
      <Diagnostics diagnostics={result.diagnostics} />
    </div>
  );
}

/** The same use by what holds it, or event by event. */
function OverTime(props: MemoryProps & { readonly memory: MemorySystem }) {
  const { params, onParams } = props;
  if (!hasLayers(props)) return <UsageChart {...props} views={null} />;
  const view = params[VIEW] === EVENTS ? EVENTS : "holders";
  const views = (
    <Segments
      label="Show"
      help="The same use by what holds it, or event by event with free memory and fragmentation."
      choices={VIEWS}
      value={view}
      onValue={(value) => onParams({ ...params, [VIEW]: value === EVENTS ? value : "" })}
    />
  );
  return view === EVENTS ? (
    <UsageChart {...props} views={views} />
  ) : (
    <HoldersOverTime {...props} views={views} />
  );
}

function headline({
  id,
  device,
  peak_bytes: peak,
  capacity_bytes: capacity,
}: MemorySystem): string {
  const name = visible(device ? `Memory ${id} (${device})` : id);
  if (!capacity) return `${name} needs ${bytes(peak)}.`;
  return `${name} held ${bytes(peak)} of its ${bytes(capacity)} at the peak (${wholePercent(peak / capacity)}).`;
}

function size(value: number | null): string {
  return value === null ? MISSING : bytes(value);
}

function whenText(memory: MemorySystem): string {
  if (memory.peak_time_ms === null) return "by the compiler's plan";
  const step = memory.peak_step === null ? "outside the steps" : `step ${memory.peak_step}`;
  return `at ${duration(memory.peak_time_ms, "ms")}, ${step}`;
}

function figures(memory: MemorySystem): Fact[] {
  const { free_bytes: free, fragmentation_frac: fragmentation } = memory;
  return [
    { label: "Peak usage", value: bytes(memory.peak_bytes), note: whenText(memory) },
    {
      label: "Capacity",
      value: size(memory.capacity_bytes),
      note: free === null ? "not recorded" : `${bytes(free)} free at the peak`,
    },
    ...room(memory),
    {
      label: "Fragmentation",
      value: fragmentation === null ? MISSING : percent(fragmentation),
      note: fragmentation === null ? "not recorded" : "of the free memory, at the peak",
    },
    {
      label: "Allocations",
      value: memory.allocations === null ? MISSING : count(memory.allocations),
      note:
        memory.deallocations === null
          ? "no allocator event recorded"
          : plural(memory.deallocations, "deallocation"),
    },
    {
      label: "Peak since the start",
      value: size(memory.lifetime_peak_bytes),
      note: memory.lifetime_peak_bytes === null ? "not recorded" : "of the program",
    },
  ];
}

/** How many times the batch fits: the answer to "how large a batch can I take?". */
function room({ batch_room: found }: MemorySystem): Fact[] {
  const least = found?.at_least;
  if (!found || least == null) return [];
  // Ends that round to one figure are one; a dash keeps two on one line.
  const ends = new Set([significant(least), significant(found.at_most ?? least)]);
  const times = [...ends].join("–");
  const note = "the recorded batch, a tenth of the memory left free";
  return [{ label: "Room for a batch", value: `${times}×`, note }];
}

function AtPeak({ memory }: { memory: MemorySystem }) {
  if (memory.heap_bytes === null && memory.stack_bytes === null) return null;
  return (
    <section>
      <h2>State at the peak</h2>
      <Facts
        facts={[
          { label: "Stack", value: size(memory.stack_bytes) },
          { label: "Heap", value: size(memory.heap_bytes) },
          { label: "Free", value: size(memory.free_bytes) },
          {
            label: "Held from before the recording",
            value: size(memory.before_recording_bytes),
          },
          { label: "After the first event", value: size(memory.begin_bytes) },
          { label: "After the last event", value: size(memory.end_bytes) },
        ]}
      />
    </section>
  );
}

/** Compares the peaks, so that the fullest device is found among many. */
function AllMemories({ result }: MemoryProps) {
  const fullest = result.memories.slice(0, MOST_BARS);
  const bars = fullest.map((each) => ({
    label: visible(
      each.device && each.device !== each.id ? `${each.id} (${each.device})` : each.id,
    ),
    value: each.peak_bytes,
    text: each.capacity_bytes
      ? `${bytes(each.peak_bytes)}, ${percent(each.peak_bytes / each.capacity_bytes)} of capacity`
      : bytes(each.peak_bytes),
  }));
  const all = fullest.length === result.memories.length;
  return (
    <ChartFrame
      title="Peaks of all memories"
      note={all ? "fullest first" : `the ${fullest.length} fullest of ${result.memories.length}`}
      file={`${result.session} memory peaks`}
      table={() => (
        <PlainTable
          kind="compact"
          heads={["Memory", "Device", "Peak", "Capacity"]}
          isNumeric={(column) => column > 1}
          rows={result.memories.map((each) => [
            visible(each.id),
            visible(each.device) || MISSING,
            bytes(each.peak_bytes),
            size(each.capacity_bytes),
          ])}
        />
      )}
    >
      <TopBars bars={bars} label="Peak usage by memory" />
    </ChartFrame>
  );
}

function ofMemory(source: ColumnarTable, id: string): ColumnarTable {
  const memories = source.columns.memory ?? [];
  return rowsWhere(source, (row) => memories[row] === id);
}

function liveTitle({ moment_ms: at, peak_time_ms: peak, moment_bytes: size }: MemorySystem) {
  if (at === null || at === peak) return "What is live at the peak";
  return `What is live at ${duration(at, "ms")}: ${bytes(size)}`;
}

function Breakdown(props: MemoryProps & { readonly memory: MemorySystem }) {
  const { result, memory, query } = props;
  const held = useMemo(() => ofMemory(byName(result.breakdown), memory.id), [result, memory]);
  const own = { ...props, query: { ...query, memory: memory.id } };
  const { binding, said } = useWithoutConstants(useTable(own, "breakdown", held));
  return (
    <section>
      <header class="section-head">
        <h2>{liveTitle(memory)}</h2>
        <p class="quiet">{said}</p>
      </header>
      <HoldersNow {...props} />
      {held.rows > 0 ? (
        <Grid {...binding} label="Live blocks" noun={["holding", "holdings"]} />
      ) : (
        <p class="quiet">Only the sum is known: {memory.source} names no single block.</p>
      )}
    </section>
  );
}
