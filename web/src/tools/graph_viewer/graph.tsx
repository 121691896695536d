/** Instructions as boxes, data as arrows: the picture of the graph viewer. */

import { useMemo } from "preact/hooks";
import { textsOf } from "../../api/columns.ts";
import type { GraphViewer } from "../../api/types.gen.ts";
import { bytes, count, percent, plural } from "../../base/format.ts";
import { shortened } from "../../base/text.ts";
import { ChartFrame } from "../../widgets/charts/chart_frame.tsx";
import { type GraphEdge, GraphView } from "../../widgets/charts/graph_view.tsx";
import { HueKey } from "../../widgets/charts/legend.tsx";
import { TipFacts } from "../../widgets/charts/tip_facts.tsx";
import { Grid } from "../../widgets/grid/grid.tsx";
import { useTable, useWithoutConstants } from "../sections/tool_page.tsx";
import { type GraphProps, goTo, timeText } from "./props.ts";

const BOX = { width: 204, height: 54 };
const NAME_CHARACTERS = 28;
const DETAIL_CHARACTERS = 28;
const FARTHEST = 20;
const DEFAULT_RADIUS = "3";

/** Colours of the kinds of instructions, in the order of the key; a new kind has the last one's. */
const HUES: Readonly<Record<string, string>> = {
  Collective: "hue-d",
  "Matrix product, convolution, custom call": "hue-a",
  Fusion: "hue-c",
  "Copy, layout": "hue-b",
  Control: "hue-f",
  "Parameter, constant, tuple": "hue-g",
  "Elementwise, other": "hue-e",
};
const hueOf = (kind: string | null | undefined) => HUES[kind ?? ""] ?? "hue-e";

export function HloGraph(props: GraphProps) {
  const { result } = props;
  const { columns, rows } = result.nodes;
  const { binding, said } = useWithoutConstants(useTable(props, "nodes", result.nodes));
  const boxes = useMemo(() => Array<typeof BOX>(rows).fill(BOX), [result]);
  const edges = useMemo(() => edgesOf(result), [result]);
  const names = useMemo(() => textsOf(columns.name), [result]);
  const order = Object.keys(HUES);
  const shown = [...new Set(columns.kind.map((kind) => kind ?? ""))]
    .sort((one, other) => order.indexOf(one) - order.indexOf(other))
    .map((kind) => ({ label: kind, hue: hueOf(kind) }));
  return (
    <ChartFrame
      title="Graph"
      note="data flows downwards; click an instruction to centre it, Ctrl and the wheel zoom"
      file={`${result.session} graph ${result.centre || result.computation}`}
      controls={
        <>
          {result.is_cut && <More {...props} />}
          {result.centre && <Radius {...props} />}
        </>
      }
      table={() => (
        <>
          {said && <p class="quiet">{said}</p>}
          <Grid {...binding} label="Instructions drawn" noun={["instruction", "instructions"]} />
        </>
      )}
    >
      <GraphView
        label={`Graph of ${plural(rows, "instruction")}`}
        boxes={boxes}
        edges={edges}
        centre={columns[result.centre ? "is_centre" : "is_root"].indexOf(true)}
        onChoose={(row) => goTo(props, columns.name[row] ?? "")}
        boxClass={(row) =>
          `${hueOf(columns.kind[row])}${columns.is_centre[row] ? " critical" : ""}`
        }
        box={(row) => <BoxText result={result} row={row} name={names[row] ?? ""} />}
        tip={(row) => <NodeTip result={result} row={row} name={names[row] ?? ""} />}
      />
      <HueKey items={shown} />
    </ChartFrame>
  );
}

/** How far from the middle the picture reaches. */
function Radius({ query, params, onParams }: GraphProps) {
  const radius = query.radius || DEFAULT_RADIUS;
  return (
    <div class="slider">
      <label for="radius">Distance</label>
      <input
        id="radius"
        type="range"
        min={1}
        max={FARTHEST}
        value={radius}
        aria-valuetext={plural(Number(radius), "edge")}
        onChange={({ currentTarget: { value } }) =>
          onParams({ ...params, radius: value === DEFAULT_RADIUS ? "" : value })
        }
      />
      <output for="radius">{plural(Number(radius), "edge")}</output>
    </div>
  );
}

/** Draws more of a graph of which only the nearest part is drawn. */
function More({ result, params, onParams }: GraphProps) {
  const more = result.nodes.rows * 4;
  return (
    <button
      type="button"
      class="button"
      onClick={() => onParams({ ...params, max_nodes: String(more) })}
    >
      Draw up to {count(more)}
    </button>
  );
}

/** Arrows between rows of the table of nodes; thicker where more bytes flow. */
function edgesOf({ nodes, edges: { columns } }: GraphViewer): GraphEdge[] {
  const rowOf = new Map(nodes.columns.id.map((id, row) => [id, row]));
  return columns.source.flatMap((source, i) => {
    const [from, to] = [rowOf.get(source), rowOf.get(columns.target[i] ?? null)];
    if (from === undefined || to === undefined) return [];
    const flow = columns.flow_bytes[i] ?? 0;
    const title = `${textsOf([columns.shape[i] ?? ""])[0]}, ${bytes(flow)}`;
    return [{ from, to, title, weight: 1 + Math.max(0, Math.log10(flow + 1) - 3) * 0.5 }];
  });
}

interface NodeProps {
  readonly result: GraphViewer;
  readonly row: number;
  readonly name: string;
}

function BoxText({ result, row, name }: NodeProps) {
  const { columns } = result.nodes;
  const share = columns.time_frac[row] ?? 0;
  const hidden = columns.hidden_neighbours[row] ?? 0;
  const shape = textsOf([columns.shape[row] ?? ""])[0] ?? "";
  const time = columns.time_us[row];
  return (
    <>
      <rect class="area" width={5} height={BOX.height} rx={2} />
      <text class="graph-name" x={12} y={16}>
        {shortened(name, NAME_CHARACTERS)}
      </text>
      <text class="graph-detail" x={12} y={31}>
        {shortened(`${columns.opcode[row]} ${shape}`, DETAIL_CHARACTERS)}
      </text>
      <text class="graph-detail" x={12} y={46}>
        {time == null ? "" : `${timeText(time)}${share > 0 ? `, ${percent(share)}` : ""}`}
      </text>
      {hidden > 0 && (
        <text class="graph-detail" x={BOX.width - 8} y={46} text-anchor="end">
          {`+${hidden}`}
        </text>
      )}
    </>
  );
}

function NodeTip({ result, row, name }: NodeProps) {
  const { columns } = result.nodes;
  const text = (
    field: "opcode" | "category" | "shape" | "framework_op" | "source" | "expression",
  ) => textsOf([columns[field][row] ?? ""])[0] ?? "";
  const share = columns.time_frac[row];
  const hidden = columns.hidden_neighbours[row] ?? 0;
  return (
    <TipFacts
      title={name}
      facts={[
        ["Opcode", text("opcode")],
        ["Category", text("category")],
        ["Shape", shortened(text("shape"), 160)],
        ["Result", bytes(columns.result_bytes[row] ?? 0)],
        ["Self time", timeText(columns.time_us[row])],
        ["Share", share == null ? "" : percent(share)],
        ["Framework op", text("framework_op")],
        ["Source", text("source")],
        ["More", hidden > 0 ? `${plural(hidden, "neighbour")} not drawn` : ""],
        ["HLO", shortened(text("expression"), 300)],
      ]}
    />
  );
}
