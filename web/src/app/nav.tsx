/** The list of tools by group. A tool that has nothing to show stays in it, dimmed, with why. */

import type { ToolInfo } from "../api/types.gen.ts";
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
  return (
    <nav class="nav" aria-label="Tools">
      {[...grouped(tools)].map(([group, members]) => (
        <section key={group}>
          <h2>{group}</h2>
          <ul>
            {members.map((tool) => (
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
        </section>
      ))}
      <section>
        <h2>Profile</h2>
        <ul>
          <li>
            <a href={pageHref("about")} aria-current={page === "about" ? "page" : undefined}>
              About this profile
            </a>
          </li>
        </ul>
      </section>
    </nav>
  );
}
