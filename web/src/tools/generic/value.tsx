/** Values nested in a result, of whatever shape: texts, records, lists and records of records. */

import type { ComponentChildren } from "preact";
import { isColumnarTable } from "../../base/columns.ts";
import { fieldLabel, fieldMeaning, fieldText, type Labels, type Words } from "../../base/fields.ts";
import { isPart, partsFor } from "../../base/parts.ts";
import { StackBar } from "../../widgets/charts/stack_bar.tsx";
import { Facts } from "../../widgets/facts.tsx";
import { PlainTable } from "../../widgets/plain_table.tsx";
import { Prose } from "../sections/prose.tsx";
import type { ToolPageProps } from "../sections/tool_page.tsx";
import { TableField } from "./table.tsx";

type FlatRecord = Readonly<Record<string, unknown>>;

export interface ValueProps extends ToolPageProps {
  /** Path of the value among the result's fields: "graph.nodes". */
  readonly field: string;
  /** The same with places in lists: "memories.0.breakdown". */
  readonly at: string;
  readonly value: unknown;
}

const LONG_TEXT = 60;

export function isScalar(value: unknown): boolean {
  return value === null || typeof value !== "object";
}

/** Whether a text wants a line of its own rather than a place among facts. */
export function isLong(value: unknown): boolean {
  return typeof value === "string" && value.length > LONG_TEXT;
}

function isFlat(value: unknown): value is FlatRecord {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.values(value).every(isScalar);
}

function lastName(field: string): string {
  return field.slice(field.lastIndexOf(".") + 1);
}

export function Value(props: ValueProps): ComponentChildren {
  const { field, at, value } = props;
  const { labels, words } = props.tool;
  const name = lastName(field);
  if (isColumnarTable(value)) return <TableField {...props} source={value} />;
  if (Array.isArray(value)) return <ListValue {...props} items={value} />;
  if (typeof value !== "object" || value === null)
    return <p>{fieldText(name, value, "", words)}</p>;
  const entries = Object.entries(value);
  if (entries.length === 0) return <p class="quiet">This profile has no data here.</p>;
  if (isBreakdown(name, value as FlatRecord))
    return <Breakdown parts={value as PartTimes} labels={labels} />;
  const flat = entries.filter(([, item]) => isScalar(item));
  const alike = alikeRecords(entries);
  const deep = entries.filter(([key, item]) => !isScalar(item) && !(key in alike));
  return (
    <>
      {flat.length > 0 && (
        <Facts
          facts={flat.map(([key, item]) => ({
            label: fieldLabel(labels, key),
            value: fieldText(key, item, name, words),
          }))}
        />
      )}
      {Object.keys(alike).length > 0 && (
        <NamedRecords records={alike} labels={labels} words={words} />
      )}
      {deep.map(([key, item]) => (
        <section key={key} class="nested">
          {!isColumnarTable(item) && <h3>{fieldLabel(labels, key)}</h3>}
          <Value {...props} field={`${field}.${key}`} at={`${at}.${key}`} value={item} />
        </section>
      ))}
    </>
  );
}

type PartTimes = Readonly<Record<string, number | null>>;

/** Whether a record divides a step's time into its parts. */
function isBreakdown(name: string, value: FlatRecord): boolean {
  const keys = Object.keys(value);
  return name.endsWith("_ms") && keys.length > 2 && keys.every(isPart);
}

function Breakdown({ parts, labels }: { parts: PartTimes; labels: Labels }) {
  const items = partsFor(Object.keys(parts), labels).map((part) => ({
    part,
    ms: parts[part.id] ?? null,
    stdMs: null,
  }));
  const total = items.reduce((sum, item) => sum + (item.ms ?? 0), 0);
  if (total <= 0) return <p class="quiet">No time was recorded for any part.</p>;
  return <StackBar items={items} totalMs={total} />;
}

/** Flat records with the same fields, which read best under each other. */
function alikeRecords(
  entries: readonly (readonly [string, unknown])[],
): Record<string, FlatRecord> {
  const records = entries.filter((entry): entry is [string, FlatRecord] => isFlat(entry[1]));
  const fields = ([, record]: readonly [string, FlatRecord]) => Object.keys(record).join();
  const first = records[0];
  if (!first) return {};
  const same = records.filter((record) => fields(record) === fields(first));
  return same.length > 1 ? Object.fromEntries(same) : {};
}

interface NamedRecordsProps {
  readonly records: Readonly<Record<string, FlatRecord>>;
  readonly labels: Labels;
  readonly words: Words;
}

function NamedRecords({ records, labels, words }: NamedRecordsProps) {
  const fields = Object.keys(Object.values(records)[0] ?? {});
  return (
    <PlainTable
      kind="compact"
      heads={["", ...fields.map((field) => fieldLabel(labels, field))]}
      isNumeric={(column) => column > 0}
      rows={Object.entries(records).map(([key, record]) => [
        fieldLabel(labels, key),
        ...fields.map((field) => fieldText(field, record[field], key, words)),
      ])}
    />
  );
}

/** Records with more fields than this, if they are few, stand side by side as columns. */
const MOST_FIELDS = 8;
const MOST_COLUMNS = 6;

function ListValue(props: ValueProps & { readonly items: readonly unknown[] }) {
  const { field, at, items } = props;
  const name = lastName(field);
  if (items.length === 0) return <p class="quiet">None in this profile.</p>;
  if (items.every(isRecord)) return <RecordList {...props} records={items} />;
  if (items.every((item) => isScalar(item) && !isLong(item))) {
    return <p>{items.map((item) => fieldText(name, item, "", props.tool.words)).join(", ")}</p>;
  }
  return (
    <ul class="notes">
      {items.map((item, index) => (
        <li key={index}>
          {typeof item === "string" ? (
            <Prose {...props} text={item} />
          ) : (
            <Value {...props} at={`${at}.${index}`} value={item} />
          )}
        </li>
      ))}
    </ul>
  );
}

function isRecord(value: unknown): value is FlatRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isEmpty(value: unknown): boolean {
  if (isColumnarTable(value)) return value.rows === 0;
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

/** The plain fields of all records as one table, then what is nested in each. */
function RecordList(props: ValueProps & { readonly records: readonly FlatRecord[] }) {
  const { records, field, at } = props;
  const { labels, words } = props.tool;
  const flat = records.map((record) =>
    Object.fromEntries(Object.entries(record).filter(([, value]) => isScalar(value))),
  );
  const fields = Object.keys(flat[0] ?? {});
  const side = fields.length > MOST_FIELDS && records.length <= MOST_COLUMNS;
  return (
    <>
      {side ? (
        <SideBySide records={flat} fields={fields} labels={labels} words={words} />
      ) : (
        <RecordTable {...props} records={flat} />
      )}
      {records.flatMap((record, index) =>
        Object.entries(record)
          .filter(([, value]) => !isScalar(value) && !isEmpty(value))
          .map(([key, value]) => (
            <section key={`${index}-${key}`} class="nested">
              <h3>
                {fieldLabel(labels, key)}
                <span class="quiet">
                  {" "}
                  {fieldText(fields[0] ?? "", flat[index]?.[fields[0] ?? ""], "", words)}
                </span>
              </h3>
              <Value
                {...props}
                field={`${field}.${key}`}
                at={`${at}.${index}.${key}`}
                value={value}
              />
            </section>
          )),
      )}
    </>
  );
}

interface SideBySideProps {
  readonly records: readonly FlatRecord[];
  readonly fields: readonly string[];
  readonly labels: Labels;
  readonly words: Words;
}

function SideBySide({ records, fields, labels, words }: SideBySideProps) {
  const [title, ...rest] = fields;
  return (
    <PlainTable
      kind="compact"
      heads={["", ...records.map((record) => title && fieldText(title, record[title], "", words))]}
      rows={rest.map((field) => [
        fieldLabel(labels, field),
        ...records.map((record) => fieldText(field, record[field], "", words)),
      ])}
    />
  );
}

function RecordTable(props: ValueProps & { readonly records: readonly FlatRecord[] }) {
  const { records } = props;
  const { labels, words } = props.tool;
  const fields = Object.keys(records[0] ?? {});
  const numeric = (field: string) =>
    records.every((record) => record[field] === null || typeof record[field] === "number");
  return (
    <PlainTable
      named={false}
      heads={fields.map((field) => (
        <>
          {fieldLabel(labels, field)}
          {fieldMeaning(field).kind === "ratio" && " share"}
        </>
      ))}
      isNumeric={(column) => numeric(fields[column] ?? "")}
      rows={records.map((record) =>
        fields.map((field) =>
          isLong(record[field]) ? (
            <Prose {...props} text={String(record[field])} />
          ) : (
            fieldText(field, record[field], "", words)
          ),
        ),
      )}
    />
  );
}
