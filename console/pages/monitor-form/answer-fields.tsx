import { useRef } from 'preact/hooks';
import { Button, IconButton } from '../../parts/button.tsx';
import { SelectField } from '../../parts/choice-fields.tsx';
import { TextField } from '../../parts/field.tsx';
import { count } from '../../parts/figures.ts';
import type { AssertionDraft } from './draft.ts';
import { Collapsible, FieldProblem, NumberField, focusLastRow } from './fields.tsx';
import { assertionField } from './judge-spec.ts';
import type { FormState } from './problems.ts';
import { OP_WORDS, SOURCES, opsOf } from './words.ts';

/** The expected response of an http monitor: status, content and assertions. */
export function AnswerFields({ form }: { form: FormState }) {
  const { draft, change, defaults, problem } = form;
  const { assertions } = draft;
  return (
    <Collapsible title="Expected response" note={noteOf(form)} isOpen={assertions.length > 0 || draft.bodyMatch !== ''}>
      <div class="grid gap-5 md:grid-cols-2">
        <TextField
          label="Status codes"
          value={draft.expectedStatus}
          placeholder={defaults.expectedStatus}
          hint="Like 200, 2xx or 200,301."
          autocapitalize="off"
          spellcheck={false}
          error={problem('expected_status')}
          onValue={(expectedStatus) => change({ expectedStatus })}
        />
        <TextField
          label="Body contains"
          value={draft.bodyMatch}
          placeholder={'"status":"ok"'}
          hint="Case-sensitive; first 1 MB."
          autocapitalize="off"
          spellcheck={false}
          error={problem('body_match')}
          onValue={(bodyMatch) => change({ bodyMatch })}
        />
      </div>
      <Assertions form={form} />
      <NumberField
        label="Warn before certificate or domain expiry"
        unit="days"
        value={draft.warnDays === '0' ? '' : draft.warnDays}
        onValue={(warnDays) => change({ warnDays })}
        standard={null}
        hint="Sends a warning, not an outage. Leave empty for none."
        error={problem('warn_days')}
      />
    </Collapsible>
  );
}

function noteOf({ draft, defaults }: FormState): string {
  const { assertions, expectedStatus, bodyMatch } = draft;
  const parts = [
    expectedStatus === '' ? defaults.expectedStatus : expectedStatus,
    bodyMatch !== '' && 'body text',
    assertions.length > 0 && count(assertions.length, 'assertion'),
  ];
  return parts.filter((part) => part !== false).join(', ');
}

function Assertions({ form: { draft, change, problem } }: { form: FormState }) {
  const { assertions } = draft;
  const set = (index: number, part: Partial<AssertionDraft>) =>
    change({ assertions: assertions.map((each, at) => (at === index ? { ...each, ...part } : each)) });
  const list = useRef<HTMLOListElement>(null);
  const add = () => {
    change({ assertions: [...assertions, { source: 'text_body', op: 'contains', value: '', path: '', name: '' }] });
    focusLastRow(list.current);
  };
  return (
    <fieldset class="min-w-0">
      <legend class="text-sm font-medium">Assertions</legend>
      <p class="text-[0.8125rem] leading-5 text-soft">
        All must pass. Response time and certificate failures mean degraded, others down.
      </p>
      <FieldProblem text={problem('check_spec.assertions')} />
      <ol ref={list} class="mt-2 flex flex-col gap-2 empty:hidden">
        {assertions.map((assertion, index) => (
          <li key={index} class="rounded-lg border border-line bg-surface p-2.5">
            <AssertionRow
              assertion={assertion}
              index={index}
              onChange={(part) => set(index, part)}
              onRemove={() => change({ assertions: assertions.filter((_, at) => at !== index) })}
              problem={(part) => problem(`${assertionField(index)}.${part}`)}
            />
            <FieldProblem text={problem(assertionField(index))} />
          </li>
        ))}
      </ol>
      <Button size="small" icon="plus" class="mt-2" onClick={add}>
        Add assertion
      </Button>
    </fieldset>
  );
}

const SOURCE_OPTIONS = Object.entries(SOURCES).map(([value, { label }]) => ({ value, label }));

function AssertionRow({
  assertion: { source, op, value, path, name },
  index,
  onChange,
  onRemove,
  problem,
}: {
  assertion: AssertionDraft;
  index: number;
  onChange: (part: Partial<AssertionDraft>) => void;
  onRemove: () => void;
  problem: (part: 'path' | 'name' | 'value') => string | undefined;
}) {
  const at = `of assertion ${index + 1}`;
  const { unit } = SOURCES[source];
  const hasSelector = source === 'json_body' || source === 'header';
  const choose = (chosen: string) => {
    const next = chosen as AssertionDraft['source'];
    const ops: readonly string[] = opsOf(next);
    onChange({ source: next, op: ops.includes(op) ? op : (ops[0] ?? op) });
  };
  const plain = { hideLabel: true, autocapitalize: 'off', autocomplete: 'off', spellcheck: false } as const;
  return (
    <div class="flex items-start gap-1">
      <div class="grid min-w-0 flex-1 gap-1.5 md:grid-cols-12">
        <SelectField
          label={`Subject ${at}`}
          hideLabel
          value={source}
          options={SOURCE_OPTIONS}
          class={hasSelector ? 'md:col-span-3' : 'md:col-span-4'}
          onValue={choose}
        />
        {source === 'json_body' && (
          <TextField
            {...plain}
            label={`JSON path ${at}`}
            value={path}
            placeholder="$.items[0].id"
            class="md:col-span-3"
            error={problem('path')}
            onValue={(written) => onChange({ path: written })}
          />
        )}
        {source === 'header' && (
          <TextField
            {...plain}
            label={`Header name ${at}`}
            value={name}
            placeholder="X-Cache"
            class="md:col-span-3"
            error={problem('name')}
            onValue={(written) => onChange({ name: written })}
          />
        )}
        <SelectField
          label={`Comparison ${at}`}
          hideLabel
          value={op}
          options={opsOf(source).map((each) => ({ value: each, label: OP_WORDS[each] }))}
          class="md:col-span-3"
          onValue={(chosen) => onChange({ op: chosen })}
        />
        {op !== 'exists' && (
          <TextField
            {...plain}
            label={`Value ${at}${unit === null ? '' : ` in ${unit}`}`}
            value={value}
            placeholder={unit ?? 'value'}
            class={hasSelector ? 'md:col-span-3' : 'md:col-span-5'}
            error={problem('value')}
            onValue={(written) => onChange({ value: written })}
          />
        )}
      </div>
      <IconButton icon="close" label={`Remove assertion ${index + 1}`} onClick={onRemove} />
    </div>
  );
}
