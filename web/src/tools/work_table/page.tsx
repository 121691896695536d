/** Work: one table of all that ran, grouped as one likes, and within a group by anything else. */

import { reportNotes } from "../../api/client.ts";
import type { WorkTable } from "../../api/types.gen.ts";
import { withUnits } from "../../base/text.ts";
import { placeOf } from "../../engine/row_places.ts";
import { Grid } from "../../widgets/grid/grid.tsx";
import { Diagnostics } from "../sections/diagnostics.tsx";
import { RowLinks } from "../sections/row_links.tsx";
import { type ToolPageProps, useTable, useWithoutConstants } from "../sections/tool_page.tsx";

/** Groups that are one thing of the program, about which the server has answers. */
const THINGS: ReadonlySet<string> = new Set(["op", "kernel", "module", "line"]);
const INSIDE = ["op", "kernel", "line", "module"] as const;
const OF_LINE = /^(.+):(\d+)(?: (.*))?$/;

export function Work(props: ToolPageProps<WorkTable>) {
  const { result, query, params, onParams } = props;
  const by = query.group_by || "type";
  const { binding, said } = useWithoutConstants(useTable(props, "groups", result.groups));
  const { table } = binding;
  const details = (row: number) => {
    const place = placeOf(table, row);
    const [, file = "", line = "", named = place.thing] =
      by === "line" ? (OF_LINE.exec(place.thing) ?? []) : [];
    const thing = THINGS.has(by) ? named : "";
    const parts = by === "device" ? ([["device", place.name]] as const) : place.parts;
    return (
      <>
        <p class="actions">
          {/* A report holds no answers about parts of groups. */}
          {INSIDE.filter((each) => each !== by && !reportNotes).map((each) => (
            <button
              key={each}
              type="button"
              class="button"
              onClick={() =>
                onParams({
                  ...{ ...params, group_by: each, within: `${by}=${place.name}` },
                  "groups.row": "",
                })
              }
            >
              Its {each}s
            </button>
          ))}
        </p>
        <RowLinks {...props} place={{ ...place, thing, file, line, parts }} />
      </>
    );
  };
  return (
    <div class="tool-page work">
      <header class="answer">
        <h2>{withUnits(result.headline)}</h2>
        {query.within && (
          <button type="button" class="button" onClick={() => onParams({ ...params, within: "" })}>
            Show all work
          </button>
        )}
        {said && <p class="quiet">{said}</p>}
      </header>
      <Grid {...binding} details={details} label="Work" noun={["row", "rows"]} />
      <Diagnostics diagnostics={result.diagnostics} />
    </div>
  );
}
