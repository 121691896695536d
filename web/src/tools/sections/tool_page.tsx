/** What a tool's page is given, and the small things every page does with it. */

import type { ComponentChildren, ComponentType } from "preact";
import { useMemo } from "preact/hooks";
import { type ExportFormat, exportUrl, reportNotes } from "../../api/client.ts";
import { byName, columnMetas } from "../../api/columns.ts";
import type { ResultBody, ToolInfo } from "../../api/types.gen.ts";
import type { AnyTable } from "../../base/columns.ts";
import { type Part, subParams, withSubParams } from "../../engine/address.ts";
import { placeOf } from "../../engine/row_places.ts";
import { cellText } from "../../engine/table/cell_text.ts";
import { type GridView, viewFromParams, viewToParams } from "../../engine/table/grid_view.ts";
import { buildTable, type Table } from "../../engine/table/table.ts";

import type { PageFor, Params } from "./page_link.ts";
import { RowLinks } from "./row_links.tsx";

export interface ToolPageProps<R extends ResultBody = ResultBody> {
  readonly tool: ToolInfo;
  readonly result: R;
  readonly params: Params;
  /** Puts new parameters into the address. */
  readonly onParams: (params: Params) => void;
  /** Selects a part of the recording for all pages; "" takes it off. */
  readonly onSelect: (part: Part, value: string) => void;
  /** The run, host and options the result was asked with, for exports. */
  readonly query: Params;
  /** Ids of all runs there are, newest first. */
  readonly runs: readonly string[];
  readonly pageFor: PageFor;
}

// biome-ignore lint/suspicious/noExplicitAny: each page narrows the result to its own tool's type
export type ToolPage = ComponentType<ToolPageProps<any>>;

/** What is given to the part of a page that stays when there is no result. */
export type RecoverProps = Pick<ToolPageProps, "tool" | "params" | "onParams" | "query">;

export interface TableBinding {
  readonly table: Table;
  readonly view: GridView;
  readonly onView: (view: GridView) => void;
  readonly exportHref: ((format: ExportFormat) => string) | undefined;
  /** Where a row leads, shown in its details. */
  readonly details: (row: number) => ComponentChildren;
}

/**
 * A table of the result, ready for a grid whose state lives in the address.
 *
 * @param field its name among the tool's tables ("graph.nodes" within a record)
 * @param at its name in the address, where several tables share a schema
 */
export function useTable(
  props: ToolPageProps,
  field: string,
  source: AnyTable,
  at = field,
): TableBinding {
  const { tool, params, onParams, query } = props;
  const { times_of: timesOf } = props.result;
  const table = useMemo(() => {
    const metas = columnMetas(tool.tables[field] ?? [], timesOf);
    return buildTable(byName(source), metas);
  }, [source, tool, field, timesOf]);
  const state = JSON.stringify(subParams(params, at));
  const view = useMemo(() => viewFromParams(JSON.parse(state) as Record<string, string>), [state]);
  return {
    table,
    view,
    onView: (next) => onParams(withSubParams(params, at, viewToParams(next))),
    exportHref: reportNotes ? undefined : (format) => exportUrl(tool.id, field, format, query),
    details: (row) => <RowLinks {...props} place={placeOf(table, row)} />,
  };
}

/** Takes out columns that say the same in every row, and says it once. */
export function useWithoutConstants(binding: TableBinding): {
  readonly binding: TableBinding;
  readonly said: string;
} {
  const { table, view } = binding;
  const quieter = useMemo(() => {
    const constant = table.columns.filter(
      (column) => column.type === "text" && column.available > 0 && column.words.length === 1,
    );
    if (table.rows < 2) return { view, said: "" };
    const hidden = Object.fromEntries(constant.map((column) => [column.meta.name, false]));
    return {
      view: { ...view, shown: { ...hidden, ...view.shown } },
      said: constant.map((column) => `${column.meta.label}: ${cellText(column, 0)}`).join("; "),
    };
  }, [table, view]);
  return { binding: { ...binding, view: quieter.view }, said: quieter.said };
}

const NO_NAMES: readonly string[] = [];

/** Puts the columns that a page is about before the others, and hides some until asked for. */
export function useFirst(
  binding: TableBinding,
  names: readonly string[],
  hidden: readonly string[] = NO_NAMES,
): TableBinding {
  const { table, view } = binding;
  const arranged = useMemo(() => {
    const named = (name: string) => table.columns.find((column) => column.meta.name === name);
    const first = names.flatMap((name) => named(name) ?? []);
    const rest = table.columns.filter((column) => !names.includes(column.meta.name));
    return { rows: table.rows, columns: [...first, ...rest] };
  }, [table, names]);
  const quieter = useMemo(() => {
    const off = Object.fromEntries(hidden.map((name) => [name, false]));
    return hidden.length > 0 ? { ...view, shown: { ...off, ...view.shown } } : view;
  }, [view, hidden]);
  return { ...binding, table: arranged, view: quieter };
}

/** An option of the tool that its page asks for itself: its choices and how to set it. */
export function optionOf(props: RecoverProps, name: string) {
  const option = props.tool.options.find((each) => each.name === name);
  const fallback = String(option?.default ?? "");
  return {
    label: option?.label ?? name,
    help: option?.help,
    choices: option?.choices ?? [],
    fallback,
    value: props.query[name] || fallback,
    // Always in the address: what a page asks with by itself need not be the tool's default.
    onValue: (value: string) => props.onParams({ ...props.params, [name]: value }),
  };
}
