/** Five views, the tabs of each, and the pages of a tab: where every tool's page stands. */

import { reportNotes } from "../api/client.ts";
import { type ToolInfo, VIEWS } from "../api/types.gen.ts";
import { Popover } from "../widgets/overlay/popover.tsx";
import { pageHref } from "./state/shell.ts";

/** A page with its place. */
export type Entry = Pick<ToolInfo, "id" | "title" | "tab" | "summary" | "available" | "missing">;

const own = (id: string, title: string, summary: string, tab = title): Entry => ({
  ...{ id, title, tab, summary, available: true, missing: "" },
});

/** Pages of the shell itself, which no tool has; a report has no server that two of them ask. */
const OWN_PAGES: readonly Entry[] = [
  own("runs", "Runs", "All runs with step time, verdict, tags and notes"),
  own("sql", "SQL", "Queries over the recording's tables"),
  own("about", "About this profile", "Files, versions, missing data", "About"),
].filter(({ id }) => !reportNotes || id === "about");

export function entriesOf(tools: readonly ToolInfo[]): readonly Entry[] {
  return [...tools, ...OWN_PAGES];
}

/** The page that these tabs open on: the first that has something to show. */
export function opensOn(tabs: readonly string[], entries: readonly Entry[]): Entry | undefined {
  const listed = tabs.flatMap((tab) => entries.filter((entry) => entry.tab === tab));
  return listed.find(({ available }) => available) ?? listed[0];
}

export interface ViewsProps {
  readonly entries: readonly Entry[];
  /** Id of the page that is shown. */
  readonly page: string;
}

/** The view a page is in, with its tabs; the first one for a page that is not known (yet). */
function viewWith({ entries, page }: ViewsProps) {
  const tab = entries.find(({ id }) => id === page)?.tab ?? "";
  return { tab, view: VIEWS.find(([, tabs]) => tabs.includes(tab)) ?? VIEWS[0] };
}

export function Views(props: ViewsProps) {
  const current = viewWith(props);
  return (
    <nav class="views" aria-label="Views">
      {VIEWS.map((view) => (
        <a
          key={view[0]}
          href={pageHref(opensOn(view[1], props.entries)?.id ?? view[0].toLowerCase())}
          aria-current={current.tab && view === current.view ? "true" : undefined}
        >
          {view[0]}
        </a>
      ))}
    </nav>
  );
}

export function Tabs(props: ViewsProps) {
  const { entries, page } = props;
  const { tab, view } = viewWith(props);
  const [name, tabs] = view ?? ["", []];
  const others = entries.filter(
    (entry) =>
      entry.tab === tab &&
      entry !== opensOn([tab], entries) &&
      (entry.available || entry.id === page),
  );
  return (
    <nav class="tabs" aria-label={name}>
      {tabs.map((each) => {
        const entry = opensOn([each], entries);
        const current = entry?.id === page ? "page" : each === tab ? "true" : undefined;
        return entry && <PageLink key={each} entry={entry} label={each} current={current} />;
      })}
      {others.length > 0 && (
        <span class="groupings">
          {others.map((entry) => (
            <PageLink
              key={entry.id}
              entry={entry}
              label={entry.title}
              current={entry.id === page ? "page" : undefined}
            />
          ))}
        </span>
      )}
    </nav>
  );
}

/** Every page under the name of its tool, for those who know them by it. */
export function ByTool({ entries, page }: ViewsProps) {
  return (
    <Popover label="By tool" align="right">
      {(close) => (
        <nav class="by-tool" aria-label="By tool" onClick={close}>
          {entries.map((entry) => (
            <PageLink
              key={entry.id}
              entry={entry}
              label={entry.title}
              detail={entry.id}
              current={entry.id === page ? "page" : undefined}
            />
          ))}
        </nav>
      )}
    </Popover>
  );
}

interface PageLinkProps {
  readonly entry: Entry;
  readonly label: string;
  readonly detail?: string;
  readonly current: "page" | "true" | undefined;
}

function PageLink({ entry, label, detail, current }: PageLinkProps) {
  return (
    <a
      href={pageHref(entry.id)}
      class={entry.available ? "" : "unavailable"}
      aria-current={current}
      title={entry.available ? entry.summary : `Nothing to show: ${entry.missing}`}
    >
      {label}
      {detail && <span class="quiet"> {detail}</span>}
      {!entry.available && <span class="off-screen"> (nothing to show)</span>}
    </a>
  );
}
