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
        const page = index % 2 === 1 && piece !== tool.id ? pageFor(piece) : null;
        return page ? (
          <a key={index} href={page.href}>
            {page.title}
          </a>
        ) : (
          piece
        );
      })}
    </>
  );
}
