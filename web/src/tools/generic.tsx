/** The page of any tool without one of its own: its fields by their names, its tables as grids. */

import type { ComponentChildren } from "preact";
import { type ColumnarTable, isColumnarTable } from "../base/columns.ts";
import { fieldLabel, fieldText } from "../base/fields.ts";
import { plural } from "../base/format.ts";
import { cellText } from "../engine/cells.ts";
import { arrange, PLAIN_VIEW } from "../engine/gridview.ts";
import type { Table } from "../engine/table.ts";
import { ChartFrame } from "../widgets/chart_frame.tsx";
import { type Fact, Facts } from "../widgets/facts.tsx";
import { Grid } from "../widgets/grid.tsx";
import { TopBars } from "../widgets/top_bars.tsx";
import { Diagnostics } from "./diagnostics.tsx";
import { type ToolPageProps, useTable } from "./page.ts";

const ENVELOPE: ReadonlySet<string> = new Set([
  "tool",
  "schema_version",
  "session",
  "hosts",
  "diagnostics",
]);

export function Generic(props: ToolPageProps) {
  const fields = Object.entries(props.result).filter(([name]) => !ENVELOPE.has(name));
  const scalars = fields.filter(([, value]) => isScalar(value));
  const rest = fields.filter(([, value]) => !isScalar(value));
  return (
    <div class="generic">
      {scalars.length > 0 && <Facts facts={scalars.map(([name, value]) => fact(name, value))} />}
      {rest.map(([name, value]) =>
        isColumnarTable(value) ? (
          <TableField key={name} name={name} source={value} {...props} />
        ) : (
          <section key={name}>
            <h2>{fieldLabel(name)}</h2>
            <Value name={name} value={value} />
          </section>
        ),
      )}
      <Diagnostics diagnostics={props.result.diagnostics} />
    </div>
  );
}

function isScalar(value: unknown): boolean {
  return value === null || typeof value !== "object";
}

function fact(name: string, value: unknown, parent = ""): Fact {
  return { label: fieldLabel(name), value: fieldText(name, value, parent) };
}

/** Nested values: lists of texts, lists of records, records of numbers, records of records. */
function Value({ name, value }: { name: string; value: unknown }): ComponentChildren {
  if (Array.isArray(value)) return <ListValue name={name} items={value} />;
  if (typeof value !== "object" || value === null) return <p>{fieldText(name, value)}</p>;
  const entries = Object.entries(value);
  if (entries.length === 0) return <p class="quiet">Nothing here in this profile.</p>;
  const flat = entries.filter(([, item]) => isScalar(item));
  const deep = entries.filter(([, item]) => !isScalar(item));
  return (
    <>
      {flat.length > 0 && <Facts facts={flat.map(([key, item]) => fact(key, item, name))} />}
      {deep.map(([key, item]) => (
        <section key={key}>
          <h3>{fieldLabel(key)}</h3>
          <Value name={key} value={item} />
        </section>
      ))}
    </>
  );
}

function ListValue({ name, items }: { name: string; items: readonly unknown[] }) {
  if (items.length === 0) return <p class="quiet">None in this profile.</p>;
  if (items.every(isScalar)) {
    return (
      <ul class="notes">
        {items.map((item, index) => (
          <li key={index}>{fieldText(name, item)}</li>
        ))}
      </ul>
    );
  }
  return (
    <ol class="records">
      {items.map((item, index) => (
        <li key={index}>
          <Value name={name} value={item} />
        </li>
      ))}
    </ol>
  );
}

interface TableFieldProps extends ToolPageProps {
  readonly name: string;
  readonly source: ColumnarTable;
}

function TableField(props: TableFieldProps) {
  const { name, source, tool } = props;
  const binding = useTable(props, name, source);
  const title = fieldLabel(name);
  if (source.rows === 0) {
    return (
      <section>
        <h2>{title}</h2>
        <p class="quiet">This table has no rows for this profile.</p>
      </section>
    );
  }
  return (
    <>
      <LargestRows table={binding.table} title={title} file={`${tool.id} ${name}`} />
      <section>
        <header class="section-head">
          <h2>{title}</h2>
          <p class="quiet">{plural(source.rows, "row")}</p>
        </header>
        <Grid {...binding} label={title} />
      </section>
    </>
  );
}

const MOST_BARS = 10;

/** A chart of the rows with the most of the time the table is sorted by, if it has names. */
function LargestRows({ table, title, file }: { table: Table; title: string; file: string }) {
  const size = table.columns.find(
    (column) => column.meta.kind === "time" && column.meta.sort === "desc",
  );
  const label = table.columns.find((column) => column.meta.kind === "name");
  if (size?.type !== "number" || !label) return null;
  const order = { column: size.meta.name, descending: true };
  const { rows } = arrange(table, { ...PLAIN_VIEW, order });
  const bars = Array.from(rows.subarray(0, MOST_BARS), (row) => ({
    label: cellText(label, row),
    value: size.values[row] as number,
    text: `${cellText(size, row)} ${size.meta.unit}`,
  })).filter((bar) => bar.value > 0);
  if (bars.length < 2) return null;
  const heading = `${title} by ${size.meta.label.toLowerCase()}`;
  return (
    <ChartFrame title={heading} note={`the ${bars.length} largest`} file={file}>
      <TopBars bars={bars} label={heading} />
    </ChartFrame>
  );
}
