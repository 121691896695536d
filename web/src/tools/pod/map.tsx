/** Every device as a cell at its place in the job, coloured by one measure around its median. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { getCells } from "../../api/pods.ts";
import type { MapMeasure } from "../../api/types.gen.ts";
import { count, duration, isTimeUnit, percent, plural, significant } from "../../base/format.ts";
import { visible } from "../../base/text.ts";
import {
  type Bins,
  binByKey,
  binned,
  deviceByCell,
  fromBase64,
  fromSteps,
  MIDDLE,
  NOTHING,
  type Rgb,
  ramp,
  valueOfByte,
} from "../../engine/pod/device_map.ts";
import { Tip } from "../../widgets/charts/tip.tsx";
import { TipFacts } from "../../widgets/charts/tip_facts.tsx";
import { useWidth } from "../../widgets/element_width.ts";
import { Segments } from "../../widgets/segments.tsx";
import { onTheme } from "../../widgets/theme.ts";
import { hostsHref, type WholePodProps } from "./props.ts";

const CHOSEN = "view.measure";
const MOST_ROWS_PX = 560;
const LARGEST_CELL_PX = 22;
const LEAST_CELL_PX = 1;

export function DeviceMap(props: WholePodProps) {
  const { result, params, onParams } = props;
  const { measures, down, across } = result.map;
  const measure = measures.find(({ id }) => id === params[CHOSEN]) ?? measures[0];
  const levels = useCells(props, measure?.id ?? "");
  if (!measure) return null;
  const named = (label: string) => measures.find((one) => one.label === label)?.id ?? "";
  return (
    <section class="chart">
      <header class="section-head">
        <h2>Devices of the job</h2>
        <p class="quiet">
          {[across && `across: ${visible(across)}`, down && `down: ${visible(down)}`]
            .filter(Boolean)
            .join(", ")}
        </p>
      </header>
      <Segments
        label="Colour"
        choices={measures.map(({ label }) => label)}
        value={measure.label}
        onValue={(label) => onParams({ ...params, [CHOSEN]: named(label) })}
      />
      {levels && <Cells {...props} measure={measure} levels={levels} />}
      <MapLegend measure={measure} />
    </section>
  );
}

/** The bytes of a measure; the last ones until they have come. Those of the first are at hand. */
function useCells({ query, result }: WholePodProps, measure: string): Uint8Array | null {
  const first = useMemo(
    () => (result.first_cells === undefined ? null : fromBase64(result.first_cells)),
    [result],
  );
  const [asked, setAsked] = useState<Uint8Array | null>(null);
  const isFirst = first !== null && measure === result.map.measures[0]?.id;
  const where = JSON.stringify(query);
  useEffect(() => {
    if (isFirst) return;
    const control = new AbortController();
    getCells(JSON.parse(where) as Record<string, string>, measure, control.signal).then(
      setAsked,
      () => {
        if (!control.signal.aborted) setAsked(null); // the table below has the same numbers
      },
    );
    return () => control.abort();
  }, [isFirst, where, measure]);
  return isFirst ? first : (asked ?? first);
}

interface CellsProps extends WholePodProps {
  readonly measure: MapMeasure;
  readonly levels: Uint8Array;
}

function Cells(props: CellsProps) {
  const { levels, measure, result } = props;
  const { map } = result;
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useWidth(box, 960);
  const [marked, setMarked] = useState(-1);
  const bins = useMemo(
    () => binned(levels, map.rows, map.columns, MOST_ROWS_PX, width),
    [levels, map, width],
  );
  const size = Math.max(
    LEAST_CELL_PX,
    Math.min(
      LARGEST_CELL_PX,
      Math.floor(width / bins.columns),
      Math.floor(MOST_ROWS_PX / bins.rows),
    ),
  );
  useEffect(() => {
    const paint = () => canvas.current && paintCells(canvas.current, bins, size);
    paint();
    return onTheme(paint);
  }, [bins, size]);
  const facts = useFacts(props, bins);
  const said = marked >= 0 ? facts(marked) : null;
  const go = (bin: number) => {
    const { host } = facts(bin);
    if (host) window.location.hash = hostsHref(props, [host], "overview_page");
  };
  return (
    <div
      ref={box}
      class="pod-map"
      role="group"
      tabIndex={0}
      aria-label={`${plural(result.devices_found, "device")} by ${measure.label}. Arrow keys read the cells, Enter opens the host.`}
      onKeyDown={(event) => {
        const goal = binByKey(event.key, marked, bins);
        if (goal !== null) setMarked(goal);
        else if (event.key === "Enter" && marked >= 0) go(marked);
        else return;
        event.preventDefault();
      }}
      onPointerMove={(event) => setMarked(binAt(event, bins, size))}
      onPointerLeave={() => setMarked(-1)}
      onBlur={() => setMarked(-1)}
      onClick={(event) => go(binAt(event, bins, size))}
    >
      <canvas ref={canvas} class="hatched" width={bins.columns * size} height={bins.rows * size} />
      {said && (
        <>
          <span
            class="pod-map-mark"
            style={{
              left: `${(marked % bins.columns) * size}px`,
              top: `${Math.floor(marked / bins.columns) * size}px`,
              width: `${size}px`,
              height: `${size}px`,
            }}
          />
          <Tip
            x={(marked % bins.columns) * size + size}
            width={width}
            top={Math.floor(marked / bins.columns) * size}
          >
            <TipFacts {...said} />
          </Tip>
        </>
      )}
    </div>
  );
}

function binAt(event: PointerEvent | MouseEvent, bins: Bins, size: number): number {
  const box = (event.currentTarget as Element).getBoundingClientRect();
  const column = Math.floor((event.clientX - box.left) / size);
  const row = Math.floor((event.clientY - box.top) / size);
  if (column < 0 || row < 0 || column >= bins.columns || row >= bins.rows) return -1;
  return row * bins.columns + column;
}

/** What there is to say about a bin: its worst device, and how many share it. */
function useFacts({ result, measure }: CellsProps, bins: Bins) {
  const { map } = result;
  const coded = useMemo(() => {
    const cells = fromSteps(map.steps.columns.cell);
    return {
      device: deviceByCell(cells, map.rows * map.columns),
      host: fromSteps(map.steps.columns.host),
      name: fromSteps(map.steps.columns.name),
    };
  }, [map]);
  return (bin: number) => {
    const cell = bins.cell[bin] ?? -1;
    const device = cell < 0 ? -1 : (coded.device[cell] as number);
    if (device < 0) return { title: "No recording", facts: [], host: "" };
    const host = map.hosts[coded.host[device] as number] ?? "";
    const name = map.names[coded.name[device] as number] ?? "";
    const level = bins.level[bin] as number;
    const value = valueOfByte(level, measure.middle ?? Number.NaN, measure.reach ?? Number.NaN);
    const beyond = (level === 0 || level === 2 * MIDDLE) && measure.beyond > 0 ? "at least " : "≈ ";
    const among = bins.down * bins.across;
    const facts: [string, string][] = [
      [measure.label, `${beyond}${withUnit(value, measure)}`],
      ["Median of all", withUnit(measure.middle ?? Number.NaN, measure)],
      ["Row", map.rows > 1 ? count(Math.floor(cell / map.columns)) : ""],
      ["Column", count(cell % map.columns)],
      ["Shown", among > 1 ? `the worst of ${count(among)} devices` : ""],
    ];
    return { title: visible(`${name} of ${host}`), facts, host };
  };
}

function withUnit(value: number, { unit, kind }: MapMeasure): string {
  if (kind === "ratio") return percent(value);
  if (isTimeUnit(unit)) return duration(value, unit);
  return `${significant(value)}${unit && ` ${unit}`}`;
}

function paintCells(canvas: HTMLCanvasElement, bins: Bins, size: number): void {
  const context = canvas.getContext("2d");
  if (!context) return;
  const colours = ramp(tokenOf("--less"), tokenOf("--line"), tokenOf("--more"));
  const { columns, rows, level } = bins;
  const image = context.createImageData(columns * size, rows * size);
  const words = new Uint32Array(image.data.buffer);
  const palette = new Uint32Array(colours.buffer);
  const gap = size > 4 ? 1 : 0; // cells that are large enough stand apart
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const byte = level[row * columns + column] as number;
      if (byte === NOTHING) continue;
      const colour = palette[byte] as number;
      for (let y = 0; y < size - gap; y++) {
        const from = (row * size + y) * columns * size + column * size;
        words.fill(colour, from, from + size - gap);
      }
    }
  }
  context.putImageData(image, 0, 0);
}

/** A colour of the style sheet as it is in the present theme. */
function tokenOf(name: string): Rgb {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const parts = getComputedStyle(probe).color.match(/[\d.]+/g) ?? [];
  probe.remove();
  return [Number(parts[0] ?? 0), Number(parts[1] ?? 0), Number(parts[2] ?? 0)];
}

function MapLegend({ measure }: { measure: MapMeasure }) {
  const { middle, reach, least, most, beyond } = measure;
  if (middle === null || reach === null || least === null || most === null) {
    return <p class="quiet">No device has this value.</p>;
  }
  const low = Math.max(least, middle - reach);
  const high = Math.min(most, middle + reach);
  return (
    <p class="pod-map-legend quiet">
      <span>{withUnit(low, measure)}</span>
      <span class="pod-map-ramp" />
      <span>{withUnit(high, measure)}</span>
      <span>
        around the median, {withUnit(middle, measure)}
        {beyond > 0 && `; ${plural(beyond, "device")} beyond the last colour`}; hatched: no
        recording
      </span>
    </p>
  );
}
