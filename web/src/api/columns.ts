/** Descriptions of columns as the server gives them, made safe to rely on. */

import {
  type AnyTable,
  type ColumnarTable,
  type ColumnMeta,
  KINDS,
  type Kind,
} from "../base/columns.ts";
import type { ColumnInfo } from "./types.gen.ts";

/** A kind that this page does not know yet is shown as text. */
export function columnMetas(infos: readonly ColumnInfo[]): ColumnMeta[] {
  return infos.map((info) => ({
    ...info,
    kind: (KINDS as readonly string[]).includes(info.kind) ? (info.kind as Kind) : "text",
    sort: info.sort === "asc" || info.sort === "desc" ? info.sort : "",
  }));
}

/** A table of named columns as one of columns by name. */
export function byName(table: AnyTable): ColumnarTable {
  return table as ColumnarTable;
}
