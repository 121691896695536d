/** What this page is given. */

import type { Pod } from "../../api/types.gen.ts";
import { formatHash } from "../../engine/address.ts";
import type { ToolPageProps } from "../sections/tool_page.tsx";

/** A pod as its page gets it, with the bytes of the map's first colour in base 64. */
export type PodOfPage = Pod & { readonly first_cells?: string };
export type WholePodProps = ToolPageProps<PodOfPage>;

/** A page of some hosts of this run, which are then opened as any recording is. */
export function hostsHref(props: WholePodProps, hosts: readonly string[], page: string): string {
  const names = [...new Set(hosts)].join(",");
  return formatHash({
    page,
    run: props.query.run ?? "",
    host: names,
    per: "",
    selection: {},
    params: {},
  });
}
