/** The graph of one pipeline: who asks whom, what each call waits for, and where the bottleneck is. */

import { useMemo } from "preact/hooks";
import { textsOf } from "../../api/columns.ts";
import type { Graph, TfDataBottleneckAnalysis } from "../../api/types.gen.ts";
import { duration, MISSING, plural, significant } from "../../base/format.ts";
import { shortened, visible } from "../../base/text.ts";
import { ChartFrame } from "../../widgets/charts/chart_frame.tsx";
import { GraphView } from "../../widgets/charts/graph_view.tsx";
import { TipFacts } from "../../widgets/charts/tip_facts.tsx";
import { Grid } from "../../widgets/grid/grid.tsx";
import { Picker } from "../../widgets/overlay/picker.tsx";
import { type ToolPageProps, useTable } from "../sections/tool_page.tsx";

type TfDataProps = ToolPageProps<TfDataBottleneckAnalysis>;

const BOX = { width: 230, height: 74 };
const NAME_CHARACTERS = 30;
/** The option that chooses the graph; "host" chooses the hosts of the session. */
const HOST = "graph_host";

export function TfDataGraph(props: TfDataProps) {
  const { graph } = props.result;
  if (!graph || graph.nodes.rows === 0) {
    return (
      <section>
        <h2>Pipeline graph</h2>
        <p class="quiet">No complete call of a pipeline was recorded.</p>
      </section>
    );
  }
  return <Drawn {...props} graph={graph} />;
}

function Drawn(props: TfDataProps & { readonly graph: Graph }) {
  const { result, graph } = props;
  const { columns } = graph.nodes;
  const nodes = useTable(props, "graph.nodes", graph.nodes);
  const boxes = useMemo(() => columns.node.map(() => BOX), [graph]);
  const edges = useMemo(() => edgesOf(graph), [graph]);
  const names = textsOf(columns.iterator);
  const time = (value: number | null | undefined) =>
    value == null ? MISSING : duration(value, "µs");
  const flags = (row: number) =>
    `${columns.is_critical[row] ? "critical" : "aside"}${columns.is_bottleneck[row] ? " bottleneck" : ""}`;
  return (
    <ChartFrame
      title="Pipeline graph"
      note={
        <>
          {callText(graph)}; bold is the critical path
          {columns.is_bottleneck.some(Boolean) && ", orange the longest wait"}
        </>
      }
      file={`${result.session} tf.data ${graph.pipeline}`}
      controls={<Selectors {...props} />}
      table={() => <Grid {...nodes} label="Iterators" noun={["iterator", "iterators"]} />}
    >
      <GraphView
        label={`Graph of ${graph.pipeline}, ${plural(graph.nodes.rows, "iterator")}`}
        boxes={boxes}
        edges={edges}
        centre={Math.max(0, columns.is_bottleneck.indexOf(true))}
        tallest={760}
        boxClass={flags}
        box={(row) => (
          <>
            <text class="graph-name" x={10} y={17}>
              {shortened(names[row] ?? "", NAME_CHARACTERS)}
            </text>
            <text x={10} y={34}>{`self ${time(columns.self_us[row])}`}</text>
            <text x={124} y={34}>{`total ${time(columns.total_us[row])}`}</text>
            <text x={10} y={50}>{`waited for ${time(columns.critical_us[row])}`}</text>
            <text x={10} y={66}>{`starts at ${time(columns.start_us[row])}`}</text>
            <text x={124} y={66}>
              {callsText(columns.calls[row] ?? null)}
            </text>
          </>
        )}
        tip={(row) => (
          <TipFacts
            title={names[row] ?? ""}
            facts={[
              ["Long name", textsOf([columns.long_name[row] ?? ""])[0] ?? ""],
              ["Start", time(columns.start_us[row])],
              ["Total", time(columns.total_us[row])],
              ["Self", time(columns.self_us[row])],
              ["Waited for", time(columns.critical_us[row])],
              ["Calls", significant(columns.calls[row] ?? Number.NaN)],
              ["Settings", textsOf([columns.settings[row] ?? ""])[0] ?? ""],
            ]}
          />
        )}
      />
    </ChartFrame>
  );
}

function callsText(calls: number | null): string {
  if (calls === null) return "";
  return Number.isInteger(calls) ? plural(calls, "call") : `${significant(calls)} calls`;
}

/** Data comes from below: an arrow leads from each iterator to the one that asked it. */
function edgesOf({ nodes: { columns } }: Graph) {
  const rowOf = new Map(columns.node.map((node, row) => [node, row]));
  return columns.parent.flatMap((parent, row) => {
    const to = parent === null ? undefined : rowOf.get(parent);
    if (to === undefined) return [];
    const critical = columns.is_critical[row] && columns.is_critical[to];
    return [
      { from: row, to, class: critical ? "critical" : "aside", weight: critical ? 2.5 : 1.2 },
    ];
  });
}

function callText(graph: Graph): string {
  const lasts = graph.duration_us === null ? "" : ` of ${duration(graph.duration_us, "µs")}`;
  if (graph.rank < 0) return `the mean${lasts} of ${plural(graph.ranks, "call")}`;
  const judged = graph.is_judged ? "" : ", started before the recording";
  return `call ${graph.rank + 1} of ${graph.ranks} by duration${lasts}${judged}`;
}

const MOST_RANKS = 200;

/** Which host, pipeline and call the graph is of. */
function Selectors(props: TfDataProps) {
  const { result, params, onParams } = props;
  const { graph, pipelines } = result;
  if (!graph) return null;
  const hosts = [...new Set(pipelines.columns.host)].filter((host) => host !== null);
  const own = pipelines.columns.name.filter(
    (name, row) => name !== null && pipelines.columns.host[row] === graph.host,
  );
  const choose = (changes: Readonly<Record<string, string>>) => onParams({ ...params, ...changes });
  const ranks = Array.from({ length: Math.min(MOST_RANKS, graph.ranks) }, (_, rank) => rank);
  return (
    <>
      <Picker
        what="Host"
        name="Hosts"
        placeholder="Find a host"
        current={graph.host}
        choices={hosts.map((host) => ({ id: host, label: visible(host) }))}
        onChoose={(host) => choose({ [HOST]: host, pipeline: "", rank: "" })}
      />
      <Picker
        what="Pipeline"
        name="Pipelines"
        placeholder="Find a pipeline"
        current={graph.pipeline}
        choices={own.map((name) => ({ id: name ?? "", label: visible(name ?? "") }))}
        onChoose={(pipeline) => choose({ pipeline, rank: "" })}
      />
      <Picker
        what="Call"
        name="Calls"
        placeholder="Find a call"
        current={String(graph.rank)}
        choices={[
          { id: "-1", label: "mean of all calls" },
          ...ranks.map((rank) => ({
            id: String(rank),
            label: rank === 0 ? "slowest" : `rank ${rank}`,
          })),
        ]}
        onChoose={(rank) => choose({ rank: rank === "-1" ? "" : rank })}
      />
    </>
  );
}
