/** The list of tools by group; those without data come last, folded, each with its reason. */

import { reportNotes } from "../api/client.ts";
import type { ToolInfo } from "../api/types.gen.ts";
import { closeNav, isNarrow, navShown } from "./state/navigation.ts";
import { pageHref } from "./state/shell.ts";

export interface NavProps {
  readonly tools: readonly ToolInfo[];
  readonly page: string;
}

function grouped(tools: readonly ToolInfo[]): Map<string, ToolInfo[]> {
  const groups = new Map<string, ToolInfo[]>();
  for (const tool of tools) {
    const group = groups.get(tool.group);
    if (group) group.push(tool);
    else groups.set(tool.group, [tool]);
  }
  return groups;
}

export function Nav({ tools, page }: NavProps) {
  const empty = tools.filter((tool) => !tool.available);
  // With its other groups: alone, the last one would jump down as they arrive.
  const known = tools.length > 0;
  if (!navShown.value) return null;
  return (
    <nav
      id="nav"
      class={isNarrow.value ? "nav over" : "nav"}
      aria-label="Tools"
      onClick={(event) => (event.target as Element).closest("a") && closeNav()}
    >
      {[...grouped(tools.filter((tool) => tool.available))].map(([group, members]) => (
        <section key={group}>
          <h2>{group}</h2>
          <ToolLinks tools={members} page={page} />
        </section>
      ))}
      <section hidden={!known}>
        <h2>Profile</h2>
        <ul>
          {!reportNotes && <OwnLink id="sql" title="SQL" page={page} />}
          <OwnLink id="about" title="About this profile" page={page} />
        </ul>
      </section>
      {empty.length > 0 && (
        // Open where the page itself is one of them: its entry must be in sight.
        <details class="nav-empty" open={empty.some((tool) => tool.id === page)}>
          <summary>Not in this recording ({empty.length})</summary>
          <ToolLinks tools={empty} page={page} />
        </details>
      )}
    </nav>
  );
}

function OwnLink({ id, title, page }: { id: string; title: string; page: string }) {
  return (
    <li>
      <a href={pageHref(id)} aria-current={page === id ? "page" : undefined}>
        {title}
      </a>
    </li>
  );
}

function ToolLinks({ tools, page }: NavProps) {
  return (
    <ul>
      {tools.map((tool) => (
        <li key={tool.id}>
          <a
            href={pageHref(tool.id)}
            class={tool.available ? "" : "unavailable"}
            aria-current={tool.id === page ? "page" : undefined}
            title={tool.available ? tool.summary : `Nothing to show: ${tool.missing}`}
          >
            {tool.title}
            {!tool.available && <span class="off-screen"> (nothing to show)</span>}
          </a>
        </li>
      ))}
    </ul>
  );
}
