/** What holds a memory: over time, and at the moment that is looked at. */

import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { byName, rowsWhere } from "../../api/columns.ts";
import type { MemoryLayerRow, MemorySystem, TableOf } from "../../api/types.gen.ts";
import { bytes, duration, percent } from "../../base/format.ts";
import { shortNames } from "../../base/short_name.ts";
import { visible } from "../../base/text.ts";
import { byteTicks, momentTicks } from "../../engine/axes/ticks.ts";
import { greatest, indexAt, stacked } from "../../engine/charts/curve.ts";
import { type HolderLayers, holderLayers } from "../../engine/charts/holder_layers.ts";
import { ChartFrame } from "../../widgets/charts/chart_frame.tsx";
import { type Line, LineChart, LineKey } from "../../widgets/charts/line_chart.tsx";
import { TipFacts } from "../../widgets/charts/tip_facts.tsx";
import { TopBars } from "../../widgets/charts/top_bars.tsx";
import { Grid } from "../../widgets/grid/grid.tsx";
import { Segments } from "../../widgets/segments.tsx";
import { optionOf, useTable } from "../sections/tool_page.tsx";
import { type MemoryProps, spanOf, spanSetter, wider } from "./props.ts";

interface HoldersProps extends MemoryProps {
  readonly memory: MemorySystem;
}

const HUES = ["hue-a", "hue-b", "hue-c", "hue-d", "hue-e", "hue-h"];
/** Of the rest: all others, what was there before, stack. */
const REST_HUES = ["hue-faint", "hue-g", "hue-f"];
const HEADROOM = 1.06;
const MOST_BARS = 12;
const LABEL_CHARACTERS = 64;

interface OverTimeProps extends HoldersProps {
  /** What changes to another view of the same use. */
  readonly views: ComponentChildren;
}

/** Whether anything says what holds the memory over time. */
export function hasLayers({ result, memory }: HoldersProps): boolean {
  return memory.layered.length > 0 && result.layers.columns.memory.includes(memory.id);
}

export function HoldersOverTime(props: OverTimeProps) {
  const { result, memory, params, onParams, views } = props;
  const { layered } = memory;
  const by = optionOf(props, "by");
  const layers = useMemo(() => {
    const all = result.layers;
    const own = rowsWhere(all, (row) => all.columns.memory[row] === memory.id);
    return holderLayers((own as unknown as TableOf<MemoryLayerRow>).columns, layered.length);
  }, [result, memory]);
  const lines = useMemo(() => linesOf(layers, layered), [layers, layered]);
  const out = wider(props, memory, layers.xs);
  const { peak_time_ms: peak } = memory;
  const at = memory.moment_ms ?? 0;
  const setMoment = (time: string) => onParams({ ...params, at_ms: time });
  return (
    <ChartFrame
      title="Use over time"
      note="by its holders. Press a moment to list them, drag to zoom"
      file={`${result.session} memory holders ${memory.id}`}
      controls={
        <>
          {views}
          {memory.kinds.some((kind) => kind !== by.value) && (
            <Segments
              label="By"
              help={by.help}
              choices={memory.kinds}
              value={by.value}
              onValue={by.onValue}
            />
          )}
          {params.at_ms && (
            <button type="button" class="button" onClick={() => setMoment("")}>
              Back to the peak
            </button>
          )}
          {out && (
            <button type="button" class="button" onClick={out.onClick}>
              {out.label}
            </button>
          )}
        </>
      }
      table={() => <LayerTable {...props} />}
    >
      <LineChart
        label={`What holds ${visible(memory.id)} over time`}
        xs={layers.xs}
        lines={lines}
        stepwise
        span={spanOf(props, memory)}
        onSpan={spanSetter(props)}
        xName="time"
        xTicks={momentTicks}
        yTicks={byteTicks}
        top={Math.max(memory.peak_bytes, greatest(lines[0]?.values ?? [])) * HEADROOM}
        markers={
          peak === null
            ? []
            : [{ x: peak, y: memory.peak_bytes, label: `peak ${bytes(memory.peak_bytes)}` }]
        }
        chosen={indexAt(layers.xs, at)}
        onChoose={(index) => setMoment((layers.xs[index] ?? 0).toFixed(6))}
        tip={(index) => <MomentTip layers={layers} names={layered} index={index} />}
      />
      <LineKey lines={lines.toReversed()} />
    </ChartFrame>
  );
}

/** The tallest sum first: the others are painted over it. */
function linesOf({ held }: HolderLayers, names: readonly string[]): Line[] {
  const sums = stacked(held);
  const told = Math.min(names.length, HUES.length);
  const hueOf = (one: number) => (one < told ? HUES[one] : REST_HUES[(one - told) % 3]) ?? "";
  const short = shortNames(names.map(visible));
  return short
    .map(
      (name, one): Line => ({
        id: String(one),
        label: name,
        hue: hueOf(one),
        values: sums[one] as Float64Array,
        form: "area",
        axis: "left",
      }),
    )
    .toReversed();
}

interface MomentTipProps {
  readonly layers: HolderLayers;
  readonly names: readonly string[];
  readonly index: number;
}

function MomentTip({ layers: { xs, held }, names, index }: MomentTipProps) {
  const sizes = held.map((each) => each[index] ?? 0);
  return (
    <TipFacts
      title={bytes(sizes.reduce((sum, size) => sum + size, 0))}
      aside={duration(xs[index] ?? 0, "ms")}
      facts={names.map((name, one) => [visible(name), sizes[one] ? bytes(sizes[one]) : ""])}
    />
  );
}

function LayerTable(props: HoldersProps) {
  const { result, memory, query } = props;
  const rows = useMemo(() => {
    const memories = result.layers.columns.memory;
    return rowsWhere(byName(result.layers), (row) => memories[row] === memory.id);
  }, [result, memory]);
  const own = { ...props, query: { ...query, memory: memory.id } };
  const binding = useTable(own, "layers", rows);
  return (
    <Grid {...binding} label="Holders over time" noun={["row", "rows"]} maxRows={12} sums={false} />
  );
}

/** When the last of its blocks is freed; nothing where one never is, or it is not known. */
function freedText(freedMs: number | null): string[] {
  return freedMs === null ? [] : [`freed by ${duration(freedMs, "ms")}`];
}

/** The largest holders at the moment, as bars. */
export function HoldersNow({ result, memory }: HoldersProps) {
  const { columns } = result.holders;
  const rows = columns.memory.flatMap((id, row) => (id === memory.id ? [row] : []));
  if (rows.length < 2) return null;
  const largest = rows.slice(0, MOST_BARS);
  const names = shortNames(largest.map((row) => visible(columns.holder[row] ?? "")));
  const bars = largest.map((row, i) => ({
    label: names[i] ?? "",
    value: columns.held_bytes[row] ?? 0,
    text: [
      bytes(columns.held_bytes[row] ?? 0),
      percent(columns.share_frac[row] ?? 0),
      ...freedText(columns.freed_ms[row] ?? null),
    ].join(", "),
  }));
  return <TopBars bars={bars} label="What is live, largest first" characters={LABEL_CHARACTERS} />;
}
