/** Sentences of the server, in which the ids of tools become links to their pages. */

import type { ToolPageProps } from "./tool_page.tsx";

export interface ProseProps extends Pick<ToolPageProps, "tool" | "pageFor"> {
  readonly text: string;
}

const IDENTIFIER = /\b([a-z]+(?:_[a-z]+)+)\b/;

export function Prose({ text, tool, pageFor }: ProseProps) {
  // Splitting by an expression with a group gives texts and identifiers in turn.
  return (
    <>
      {text.split(IDENTIFIER).map((piece, index) => {
        if (index % 2 === 0) return piece;
        const page = piece === tool.id ? null : pageFor(piece);
        // A page that this recording has nothing for is still called by its name.
        if (!page) return pageFor.titleOf(piece) ?? piece;
        return (
          <a key={index} href={page.href}>
            {page.title}
          </a>
        );
      })}
    </>
  );
}
