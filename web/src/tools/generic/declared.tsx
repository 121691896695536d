/** The page of a tool that declares its parts: texts, charts and tables, in the declared order. */

import type { ComponentType } from "preact";
import { byName } from "../../api/columns.ts";
import type { Picker, Shown, TableView, Terms } from "../../api/types.gen.ts";
import { fieldLabel } from "../../base/fields.ts";
import { partsFor } from "../../base/parts.ts";
import { visible, withUnits } from "../../base/text.ts";
import { filled, valuesOf } from "../../engine/page/template.ts";
import { ChartFrame } from "../../widgets/charts/chart_frame.tsx";
import { StackBar } from "../../widgets/charts/stack_bar.tsx";
import { Figures } from "../../widgets/facts.tsx";
import { Picker as PickerButton } from "../../widgets/overlay/picker.tsx";
import { ChartSection } from "../sections/chart_section.tsx";
import { Diagnostics, Errors, isError } from "../sections/diagnostics.tsx";
import { Prose } from "../sections/prose.tsx";
import { StepSection } from "../sections/step_section.tsx";
import { TableSection } from "../sections/table_section.tsx";
import type { ToolPageProps } from "../sections/tool_page.tsx";
import { Bars } from "./bars.tsx";
import { Course } from "./course.tsx";
import { medianOf, type Panel, type PanelProps, recordsAt, tableAt, Unfilled } from "./panel.tsx";

/** Charts that the page has for one tool each; they narrow the result to their tool's type. */
// biome-ignore lint/suspicious/noExplicitAny: as said
export type Charts = Readonly<Record<string, ComponentType<any>>>;

type Of<F> = Extract<Panel, { readonly form: F }>;

const PANELS: Charts = {
  bar_chart: Bars,
  line_chart: Course,
  paragraph: Paragraph,
  parts_chart: Parts,
  steps_chart: Steps,
  table_chart: Chart,
  table_view: Listing,
  terms: TermList,
};

export function Declared(props: ToolPageProps & { readonly charts: Charts }) {
  const { tool, result, charts } = props;
  const values = valuesOf(result);
  const text = (template = "") => filled(template, values, tool.words) ?? "";
  const of = <F extends Panel["form"]>(form: F) =>
    tool.page.filter((panel): panel is Of<F> => panel.form === form);
  const [head] = of("headline");
  const pickers = of("picker");
  const figures = of("figure")
    .map(({ title, value, note }) => ({
      label: text(title),
      value: text(value),
      note: withUnits(text(note)),
    }))
    .filter(({ value }) => value);
  const tone = text(head?.tone);
  return (
    <div class="tool-page">
      <Errors diagnostics={result.diagnostics} />
      <header class={tone ? `verdict bound-${tone}` : "answer"}>
        <h2 class={tone ? "verdict-line" : undefined}>
          <Prose {...props} text={withUnits(text(head?.title))} />
        </h2>
        {text(head?.note) && (
          <p>
            <Prose {...props} text={text(head?.note)} />
          </p>
        )}
        {pickers.length > 0 && (
          <div class="pickers">
            {pickers.map((panel) => (
              <Choice key={panel.option} {...props} panel={panel} values={values} />
            ))}
          </div>
        )}
      </header>
      {figures.length > 0 && <Figures figures={figures} />}
      {tool.page.map((panel, place) => {
        const Drawn = PANELS[panel.form] ?? charts[panel.form];
        return Drawn && <Drawn key={place} {...props} panel={panel} values={values} />;
      })}
      <Diagnostics diagnostics={result.diagnostics.filter((each) => !isError(each))} />
    </div>
  );
}

/** One of the things that the recording has; "" is all of them, where that is a choice. */
function Choice({ panel, values, params, onParams, tool }: PanelProps<Picker>) {
  const { option, title, all } = panel;
  const listAt = (path: string) => (values(`${path}.all`) ?? values(path) ?? []) as unknown[];
  const ids = listAt(panel.values).map(String);
  const labels = panel.labels ? listAt(panel.labels) : ids;
  const found = ids.map((id, row) => ({
    id,
    label: visible(String(labels[row])),
    detail: panel.detail
      ? (filled(panel.detail, (path) => (values(`${path}.all`) as unknown[])[row], tool.words) ??
        "")
      : "",
  }));
  const own = found.filter(({ id }, row) => id !== "null" && ids.indexOf(id) === row);
  const chosen = params[option] ?? "";
  if (all && own.length < 2 && !chosen) return null;
  const isLost = chosen && !own.some(({ id }) => id === chosen);
  const lost = isLost && all ? [{ id: chosen, label: visible(chosen) }] : [];
  return (
    <PickerButton
      what={title}
      name={`${title} to choose from`}
      placeholder={`Find by name`}
      current={all ? chosen || "all" : String(values(panel.current))}
      choices={[...(all ? [{ id: "all", label: all }] : []), ...lost, ...own]}
      onChoose={(id) => {
        // What was chosen of the last thing, the next one does not have.
        const kept = Object.entries(params).filter(([name]) => !name.startsWith("view."));
        const cleared = Object.fromEntries(panel.clears.map((name) => [name, ""]));
        onParams({ ...Object.fromEntries(kept), ...cleared, [option]: id === "all" ? "" : id });
      }}
    />
  );
}

function Paragraph({ panel, values, tool }: PanelProps<Of<"paragraph">>) {
  const text = filled(panel.text, values, tool.words);
  return text ? <p>{withUnits(text)}</p> : null;
}

function Listing(props: PanelProps<TableView>) {
  const { panel, values } = props;
  const { field, noun, first, hidden, sums } = panel;
  const { title, note, none } = panelTexts(props);
  const source = tableAt(values, field);
  if (!source || (panel.several && source.rows < 2)) return null;
  return (
    <TableSection
      {...props}
      {...{ field, title, note, source, first, hidden }}
      {...(none ? { none } : {})}
      {...(sums === null ? {} : { sums })}
      noun={noun as [string, string]}
      main={panel.main}
      constants={panel.constants}
    />
  );
}

function panelTexts({ panel, values, tool }: PanelProps<Shown & Panel>) {
  const text = (template: string) => filled(template, values, tool.words) ?? "";
  const title = text(panel.title) || fieldLabel(tool.labels, panel.field);
  return { title, note: text(panel.note), none: text(panel.none) };
}

/** The steps of the recording, each with its parts. */
function Steps(props: PanelProps<Of<"steps_chart">>) {
  const { panel, values } = props;
  const source = tableAt(values, panel.field);
  if (!source || source.rows === 0) return null;
  return (
    <StepSection
      {...props}
      field={panel.field}
      source={byName(source)}
      medianMs={medianOf(source)}
    />
  );
}

/** A table as the chart that its columns allow. */
function Chart(props: PanelProps<Of<"table_chart">>) {
  const { panel, values } = props;
  const { field } = panel;
  const source = tableAt(values, field);
  return source ? <ChartSection {...props} {...panelTexts(props)} {...{ field, source }} /> : null;
}

/** A time divided into the parts of a step. */
function Parts(props: PanelProps<Of<"parts_chart">>) {
  const { panel, values, tool, result } = props;
  const { title, note, none } = panelTexts(props);
  const times = (values(panel.field) ?? {}) as Readonly<Record<string, number | null>>;
  const items = partsFor(Object.keys(times), tool.labels).map((part) => ({
    part,
    ms: times[part.id] ?? null,
    stdMs: null,
  }));
  const total = items.reduce((sum, item) => sum + (item.ms ?? 0), 0);
  if (total <= 0) return <Unfilled title={title} none={none} />;
  return (
    <ChartFrame {...{ title, note }} file={`${result.session} ${title.toLowerCase()}`}>
      <StackBar items={items} totalMs={total} />
    </ChartFrame>
  );
}

/** Names with what they mean and what to do. */
function TermList(props: PanelProps<Terms>) {
  const { panel, values, tool } = props;
  const said = (record: object, template: string) =>
    filled(template, (path) => (record as Readonly<Record<string, unknown>>)[path], tool.words);
  const terms = recordsAt(values, panel.field).flatMap((record) => {
    const name = said(record, panel.name);
    return name ? [[name, said(record, panel.meaning) ?? "", said(record, panel.text) ?? ""]] : [];
  });
  if (terms.length === 0) return null;
  return (
    <section class="advice-list">
      <h3>{panelTexts(props).title}</h3>
      <dl class="terms">
        {terms.map(([name, meaning, text]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <span class="quiet">{meaning}</span> <Prose {...props} text={text ?? ""} />
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
