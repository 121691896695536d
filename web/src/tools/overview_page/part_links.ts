/** Which page tells more of a part of the step. */

import type { PageFor } from "../sections/page_link.ts";

/** Pages by part, the most telling first; the first that has something to show is linked. */
const PAGES: Readonly<Record<string, readonly string[]>> = {
  input: ["tf_data_bottleneck_analysis", "input_pipeline_analyzer"],
  host_to_device: ["device_idle", "trace_viewer"],
  output: ["device_idle", "trace_viewer"],
  kernel_launch: ["device_idle", "trace_viewer"],
  host_compute: ["host_activity", "work_table"],
  device_to_device: ["device_idle", "trace_viewer"],
  collectives: ["pod_viewer", "trace_viewer"],
  device_compute_16: ["work_table"],
  device_compute_32: ["work_table"],
  compilation: ["host_activity", "trace_viewer"],
  host_wait: ["device_idle", "host_activity", "trace_viewer"],
  other: ["host_activity", "trace_viewer"],
  compute: ["work_table"],
  communication: ["pod_viewer", "trace_viewer"],
  copies: ["trace_viewer"],
  idle: ["device_idle", "trace_viewer"],
};

export function partLink(part: string, pageFor: PageFor) {
  for (const page of PAGES[part] ?? []) {
    const link = pageFor(page);
    if (link) return { href: link.href, title: link.title };
  }
  return null;
}
