/** Tags and a note on a run, kept beside its logs. */

import { useState } from "preact/hooks";
import { errorInfo } from "../../api/client.ts";
import { keepRunNote } from "../../api/runs.ts";
import type { RunInfo } from "../../api/types.gen.ts";

interface NoteFormProps {
  readonly run: RunInfo;
  readonly onNoted: () => void;
}

export function NoteForm({ run, onNoted }: NoteFormProps) {
  const [tags, setTags] = useState(run.tags.join(", "));
  const [note, setNote] = useState(run.note);
  const [said, setSaid] = useState("");
  const keep = async () => {
    setSaid("");
    const listed = tags
      .split(",")
      .map((tag) => tag.trim())
      .filter(Boolean);
    try {
      await keepRunNote({ run: run.id, tags: listed, note });
      setSaid("Kept beside the logs.");
      onNoted();
    } catch (error) {
      const { what, why, hint } = errorInfo(error);
      setSaid([what, why, hint].filter(Boolean).join(" "));
    }
  };
  return (
    <form
      class="run-note"
      onSubmit={(event) => {
        event.preventDefault();
        void keep();
      }}
    >
      <label>
        Tags, separated by commas
        <input class="field" value={tags} onInput={(event) => setTags(event.currentTarget.value)} />
      </label>
      <label>
        Note
        <textarea
          class="field"
          rows={4}
          value={note}
          onInput={(event) => setNote(event.currentTarget.value)}
        />
      </label>
      <p class="actions">
        <button type="submit" class="button">
          Keep
        </button>
        <span class="quiet" role="status">
          {said}
        </span>
      </p>
    </form>
  );
}
