/** What this page is given. */

import type { Pod } from "../../api/types.gen.ts";
import { formatHash } from "../../engine/address.ts";
import type { ToolPageProps } from "../sections/tool_page.tsx";

export type WholePodProps = ToolPageProps<Pod>;

/** A page of some hosts of this run, which are then opened as any recording is. */
export function hostsHref(props: WholePodProps, hosts: readonly string[], page: string): string {
  const names = [...new Set(hosts)].join(",");
  return formatHash({ page, run: props.query.run ?? "", host: names, per: "", params: {} });
}
