/** Graph viewer: a compiled program around one instruction, what flows where, and its text. */

import { useState } from "preact/hooks";
import { textsOf } from "../../api/columns.ts";
import type { GraphViewer as GraphResult } from "../../api/types.gen.ts";
import { bytes, count, MISSING, percent, plural } from "../../base/format.ts";
import { visible, withUnits } from "../../base/text.ts";
import { copyToClipboard } from "../../widgets/clipboard.ts";
import { Facts } from "../../widgets/facts.tsx";
import { Grid } from "../../widgets/grid/grid.tsx";
import { Picker } from "../../widgets/overlay/picker.tsx";
import { Diagnostics } from "../sections/diagnostics.tsx";
import { useTable, useWithoutConstants } from "../sections/tool_page.tsx";
import { HloGraph } from "./graph.tsx";
import { type GraphProps, goTo, timeText } from "./props.ts";

const MOST_LINKS = 24;

export function GraphViewer(props: GraphProps) {
  const { result } = props;
  const instructions = useTable(props, "instructions", result.instructions);
  const { binding, said } = useWithoutConstants(instructions);
  return (
    <div class="tool-page">
      <header class="answer">
        <h2>{withUnits(headline(result))}</h2>
        <Choices {...props} />
      </header>
      <HloGraph {...props} />
      <Centre {...props} />
      <Text {...props} />
      <section>
        <header class="section-head">
          <h2>All instructions</h2>
          <p class="quiet">{said}</p>
        </header>
        <Grid {...binding} label="Instructions" noun={["instruction", "instructions"]} />
      </section>
      <Diagnostics diagnostics={result.diagnostics} />
    </div>
  );
}

function headline(result: GraphResult): string {
  const shown = plural(result.nodes.rows, "instruction");
  const where = `${visible(result.computation)} of ${visible(result.program)}`;
  const cut = result.is_cut ? " (the nearest ones)" : "";
  if (!result.centre) return `All of ${where}: ${shown}${cut}.`;
  return `Around ${visible(result.centre)} in ${where}: ${shown}${cut}.`;
}

function Choices(props: GraphProps) {
  const { result, params, onParams } = props;
  const { programs, instructions, computations } = result;
  const names = textsOf(instructions.columns.name);
  return (
    <div class="pickers">
      <Picker
        what="Program"
        name="Programs"
        placeholder="Find a program"
        current={result.program_id}
        choices={textsOf(programs.columns.program).map((label, row) => ({
          id: programs.columns.program_id[row] ?? "",
          label,
          detail: `${plural(programs.columns.instructions[row] ?? 0, "instruction")}, ${timeText(programs.columns.time_us[row])}`,
        }))}
        onChoose={(program) => onParams({ ...params, program, node: "" })}
      />
      <Picker
        what="Instruction"
        name="Instructions"
        placeholder="Find an instruction, opcode or framework op"
        current={result.centre}
        choices={names.map((label, row) => ({
          id: instructions.columns.name[row] ?? "",
          label,
          detail: `${visible(instructions.columns.opcode[row] ?? "")}, ${timeText(instructions.columns.time_us[row])}`,
          keywords: instructions.columns.framework_op[row] ?? "",
        }))}
        onChoose={(node) => goTo(props, node)}
      />
      <Picker
        what="Whole computation"
        name="Computations"
        placeholder="Find a computation"
        current={result.centre ? "" : result.computation}
        choices={textsOf(computations.columns.name).map((label, row) => ({
          id: computations.columns.name[row] ?? "",
          label,
          detail: `${plural(computations.columns.instructions[row] ?? 0, "instruction")}${computations.columns.is_entry[row] ? ", the program's entry" : ""}`,
        }))}
        onChoose={(node) => goTo(props, node)}
      />
    </div>
  );
}

/** What is known about the instruction in the middle. */
function Centre(props: GraphProps) {
  const { result } = props;
  const { columns } = result.nodes;
  const row = columns.is_centre.indexOf(true);
  if (row < 0) return null;
  const text = (
    name: "opcode" | "category" | "shape" | "framework_op" | "source" | "computation",
  ) => visible(columns[name][row] ?? "") || MISSING;
  const share = columns.time_frac[row];
  const calls = (columns.calls[row] ?? "").split(",").filter(Boolean);
  return (
    <section>
      <h2>{visible(result.centre)}</h2>
      <Facts
        facts={[
          { label: "Opcode", value: text("opcode") },
          { label: "Category", value: text("category") },
          {
            label: "Self time",
            value: timeText(columns.time_us[row]),
            note: share == null ? "" : `${percent(share)} of the program`,
          },
          { label: "Result", value: bytes(columns.result_bytes[row] ?? Number.NaN) },
          { label: "Shape", value: <code>{text("shape")}</code>, wide: true },
          { label: "Framework op", value: text("framework_op"), wide: true },
          { label: "Source", value: text("source"), wide: true },
          { label: "Computation", value: text("computation") },
        ]}
      />
      <Links {...props} title="Reads" names={result.operand_names} none="nothing" />
      <Links {...props} title="Read by" names={result.consumer_names} none="nobody" />
      {calls.length > 0 && <Links {...props} title="Calls" names={calls} none="" />}
    </section>
  );
}

interface LinksProps extends GraphProps {
  readonly title: string;
  readonly names: readonly string[];
  readonly none: string;
}

function Links({ title, names, none, ...props }: LinksProps) {
  const shown = names.slice(0, MOST_LINKS);
  return (
    <p class="link-line">
      <span class="quiet">{title}</span>{" "}
      {shown.map((name) => (
        <button key={name} type="button" class="link" onClick={() => goTo(props, name)}>
          {visible(name)}
        </button>
      ))}
      {names.length > shown.length && `and ${count(names.length - shown.length)} more`}
      {names.length === 0 && none}
    </p>
  );
}

/** The text of what is drawn. */
function Text({ result }: GraphProps) {
  const [copied, setCopied] = useState(false);
  if (!result.hlo_text) return null;
  const lines = result.hlo_text.split("\n").length;
  return (
    <details class="text-details">
      <summary>
        <h2>HLO text</h2> <span class="quiet">{plural(lines, "line")}</span>
      </summary>
      <p>
        <button
          type="button"
          class="button"
          onClick={() => void copyToClipboard(result.hlo_text).then(setCopied)}
        >
          {copied ? "Copied" : "Copy"}
        </button>
      </p>
      <pre class="hlo-text" tabIndex={0} role="region" aria-label="HLO text">
        {visible(result.hlo_text)}
      </pre>
    </details>
  );
}
