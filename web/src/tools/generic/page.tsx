/** The page of any tool without one of its own: its fields by their names, its tables as grids. */

import { isColumnarTable } from "../../base/columns.ts";
import { fieldLabel, fieldMeaning, fieldText } from "../../base/fields.ts";
import { Facts } from "../../widgets/facts.tsx";
import { Diagnostics } from "../sections/diagnostics.tsx";
import { Prose } from "../sections/prose.tsx";
import type { ToolPageProps } from "../sections/tool_page.tsx";
import { TableField, type TableFieldProps } from "./table.tsx";
import { TreeField } from "./tree.tsx";
import { isLong, isScalar, Value } from "./value.tsx";

const ENVELOPE: ReadonlySet<string> = new Set([
  "tool",
  "schema_version",
  "session",
  "hosts",
  "diagnostics",
  "files_used",
  "times",
  "times_of",
  "headline",
  "short_names",
  "selection",
]);

/** Rows with a depth contain each other. */
function TableOrTree(props: TableFieldProps) {
  const { rows, columns } = props.source;
  return rows > 0 && "depth" in columns ? <TreeField {...props} /> : <TableField {...props} />;
}

export function Generic(props: ToolPageProps) {
  const { result } = props;
  const headline =
    "headline" in result && typeof result.headline === "string" ? result.headline : "";
  const fields = Object.entries(result).filter(([name]) => !ENVELOPE.has(name));
  // Flags are for programs: what follows from them for a person, other fields say in words.
  const scalars = fields.filter(([, value]) => isScalar(value) && typeof value !== "boolean");
  const nested = fields.filter(([, value]) => !isScalar(value));
  // Short values first: a table of a thousand rows would hide what is below it.
  const rest = [
    ...nested.filter(([, value]) => !isColumnarTable(value)),
    ...nested.filter(([, value]) => isColumnarTable(value)),
  ];
  const facts = scalars
    // What has no unit and was not recorded, a record or a text, would be a name beside a dash.
    .filter(([name, value]) => !isLong(value) && (value !== null || fieldMeaning(name).unit))
    .map(([name, value]) => ({
      label: fieldLabel(props.tool.labels, name),
      value: fieldText(name, value, "", props.tool.words),
    }));
  return (
    <div class="generic">
      {headline && <p class="headline">{headline}</p>}
      {facts.length > 0 && <Facts facts={facts} />}
      {scalars
        .filter(([, value]) => isLong(value))
        .map(([name, value]) => (
          <section key={name}>
            <h2>{fieldLabel(props.tool.labels, name)}</h2>
            <p class="prose">
              <Prose {...props} text={String(value)} />
            </p>
          </section>
        ))}
      {rest.map(([name, value]) =>
        isColumnarTable(value) ? (
          <TableOrTree key={name} field={name} at={name} source={value} {...props} />
        ) : (
          <section key={name}>
            <h2>{fieldLabel(props.tool.labels, name)}</h2>
            <Value {...props} field={name} at={name} value={value} />
          </section>
        ),
      )}
      <Diagnostics diagnostics={result.diagnostics} />
    </div>
  );
}
