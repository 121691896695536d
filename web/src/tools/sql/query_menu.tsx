/** Queries to choose from: examples, and those a person has kept. */

import { useState } from "preact/hooks";
import type { QueryExampleInfo } from "../../api/types.gen.ts";
import { Popover } from "../../widgets/overlay/popover.tsx";
import { forgetQuery, savedQueries, saveQuery } from "./saved_queries.ts";

interface QueryMenuProps {
  readonly examples: readonly QueryExampleInfo[];
  readonly typed: string;
  readonly onChoose: (query: string) => void;
}

export function QueryMenu({ examples, typed, onChoose }: QueryMenuProps) {
  const own = savedQueries.value;
  return (
    <>
      {examples.length > 0 && (
        <Popover label="Examples">
          {(close) => (
            <div class="menu">
              {examples.map(({ question, query }) => (
                <button
                  key={question}
                  type="button"
                  class="menu-item"
                  onClick={() => {
                    close();
                    onChoose(query);
                  }}
                >
                  {question}
                </button>
              ))}
            </div>
          )}
        </Popover>
      )}
      <Popover label={own.length > 0 ? `Saved queries (${own.length})` : "Saved queries"}>
        {(close) => (
          <div class="menu">
            <SaveForm typed={typed} />
            {own.map(({ name, query }) => (
              <div key={name} class="saved-query">
                <button
                  type="button"
                  class="menu-item"
                  onClick={() => {
                    close();
                    onChoose(query);
                  }}
                >
                  {name}
                </button>
                <button
                  type="button"
                  class="button"
                  aria-label={`Forget ${name}`}
                  onClick={() => forgetQuery(name)}
                >
                  ×
                </button>
              </div>
            ))}
          </div>
        )}
      </Popover>
    </>
  );
}

function SaveForm({ typed }: { typed: string }) {
  const [name, setName] = useState("");
  const usable = name.trim() !== "" && typed.trim() !== "";
  return (
    <form
      class="saved-query"
      onSubmit={(event) => {
        event.preventDefault();
        if (usable) saveQuery(name.trim(), typed.trim());
        setName("");
      }}
    >
      <input
        class="field"
        aria-label="Name of the query"
        placeholder="Name of this query"
        value={name}
        onInput={(event) => setName(event.currentTarget.value)}
      />
      <button type="submit" class="button" disabled={!usable}>
        Save
      </button>
    </form>
  );
}
