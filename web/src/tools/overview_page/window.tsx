/** Where the time of a recording without steps goes: busy and idle over all of its devices. */

import type { OverviewPage } from "../../api/types.gen.ts";
import { plural } from "../../base/format.ts";
import type { Part } from "../../base/parts.ts";
import { ChartFrame } from "../../widgets/charts/chart_frame.tsx";
import { StackBar, type StackBarProps, type StackItem } from "../../widgets/charts/stack_bar.tsx";

const NS_PER_MS = 1e6;

const COMPUTE: Part = { id: "compute", label: "Compute", colour: "device", pattern: "solid" };
const COMMUNICATION: Part = {
  id: "communication",
  label: "Communication",
  colour: "collectives",
  pattern: "solid",
};
const COPIES: Part = { id: "copies", label: "Copies", colour: "output", pattern: "solid" };
const IDLE: Part = { id: "idle", label: "Idle", colour: "other", pattern: "hatch" };

/** Mean over the devices of the parts of their time, ms. */
export interface WindowAccount {
  readonly devices: number;
  readonly spanMs: number;
  readonly busyMs: number;
  readonly communicationMs: number;
  readonly copyMs: number;
}

/** null where no device ran. */
export function accountOf({ window }: OverviewPage): WindowAccount | null {
  const { devices } = window;
  const mean = (value: (device: (typeof devices)[number]) => number) =>
    devices.reduce((sum, device) => sum + value(device), 0) / devices.length / NS_PER_MS;
  const account = {
    devices: devices.length,
    spanMs: mean(({ span_ns }) => span_ns),
    busyMs: mean(({ busy_ns }) => busy_ns),
    communicationMs: mean(({ exposed_communication_ns }) => exposed_communication_ns),
    copyMs: mean(({ exposed_copy_ns }) => exposed_copy_ns),
  };
  return devices.length > 0 && account.spanMs > 0 ? account : null;
}

interface WindowBarProps extends Pick<StackBarProps, "linkOf"> {
  readonly result: OverviewPage;
  readonly account: WindowAccount;
}

export function WindowBar({ result, account, linkOf }: WindowBarProps) {
  const { spanMs, busyMs, communicationMs, copyMs } = account;
  const parts: readonly (readonly [Part, number])[] = [
    [COMPUTE, Math.max(0, busyMs - communicationMs - copyMs)],
    [COMMUNICATION, communicationMs],
    [COPIES, copyMs],
    [IDLE, Math.max(0, spanMs - busyMs)],
  ];
  const items: StackItem[] = parts.map(([part, ms]) => ({ part, ms, stdMs: null }));
  return (
    <ChartFrame
      title="Device time"
      note={`from the first to the last event of a device, mean of ${plural(account.devices, "device")}`}
      file={`${result.session} device time`}
    >
      <StackBar
        items={items}
        totalMs={spanMs}
        label="Device time"
        {...(linkOf ? { linkOf } : {})}
      />
    </ChartFrame>
  );
}
