import { useRef } from 'preact/hooks';
import { Button, IconButton } from '../../parts/button.tsx';
import { CheckField, SelectField } from '../../parts/choice-fields.tsx';
import type { FormState } from './defaults.ts';
import type { DnsRecordDraft, Draft } from './draft.ts';
import { Collapsible, FieldProblem, focusLastRow, TextList } from './fields.tsx';
import { recordField } from './judge-spec.ts';
import { MODE_WORDS, RECORDS } from './words.ts';

/** The records that a name must have. */
export function DnsFields({ form: { draft, change, problem } }: { form: FormState }) {
  const { records, crossCheck } = draft.dns;
  const set = (part: Partial<Draft['dns']>) => change({ dns: { ...draft.dns, ...part } });
  const replace = (index: number, part: Partial<DnsRecordDraft>) =>
    set({ records: records.map((each, at) => (at === index ? { ...each, ...part } : each)) });
  const list = useRef<HTMLOListElement>(null);
  const add = () => {
    set({ records: [...records, { type: 'A', mode: 'equals', expected: [''] }] });
    focusLastRow(list.current);
  };
  return (
    <Collapsible
      title="Records"
      note={
        records.length === 0 ? 'any A or AAAA record' : `${records.length} ${records.length === 1 ? 'rule' : 'rules'}`
      }
      isOpen
    >
      <fieldset class="min-w-0">
        <legend class="text-sm font-medium">Rules</legend>
        <p class="text-[0.8125rem] leading-5 text-soft">
          All must pass. Without rules, any A or AAAA record is enough.
        </p>
        <FieldProblem text={problem('check_spec.dns.records')} />
        <ol ref={list} class="mt-2 flex flex-col gap-2 empty:hidden">
          {records.map((record, index) => (
            <li key={index} class="rounded-lg border border-line bg-surface p-2.5">
              <RecordRow
                record={record}
                index={index}
                onChange={(part) => replace(index, part)}
                onRemove={() => set({ records: records.filter((_, at) => at !== index) })}
                problem={(item) => problem(`${recordField(index)}.expected[${item}]`)}
              />
              <FieldProblem text={problem(recordField(index))} />
            </li>
          ))}
        </ol>
        <Button size="small" icon="plus" class="mt-2" onClick={add}>
          Add rule
        </Button>
      </fieldset>
      <CheckField
        label="Query multiple resolvers"
        checked={crossCheck === true}
        onChecked={(isChecked) => set({ crossCheck: isChecked })}
        hint="At least three; degraded when they disagree."
      />
    </Collapsible>
  );
}

const TYPES = Object.keys(RECORDS).map((value) => ({ value, label: `${value} records` }));
const MODES = Object.entries(MODE_WORDS).map(([value, label]) => ({ value, label }));

function RecordRow({
  record: { type, mode, expected },
  index,
  onChange,
  onRemove,
  problem,
}: {
  record: DnsRecordDraft;
  index: number;
  onChange: (part: Partial<DnsRecordDraft>) => void;
  onRemove: () => void;
  /** The error of an expected record, by its place. */
  problem: (item: number) => string | undefined;
}) {
  return (
    <div class="flex items-start gap-1">
      <div class="flex min-w-0 flex-1 flex-col gap-2.5">
        <div class="grid gap-1.5 md:grid-cols-2">
          <SelectField
            label={`Type of rule ${index + 1}`}
            hideLabel
            value={type}
            options={TYPES}
            onValue={(value) => onChange({ type: value as DnsRecordDraft['type'] })}
          />
          <SelectField
            label={`Comparison of rule ${index + 1}`}
            hideLabel
            value={mode}
            options={MODES}
            onValue={(value) => onChange({ mode: value as DnsRecordDraft['mode'] })}
          />
        </div>
        {mode !== 'exists' && mode !== 'absent' && (
          <TextList
            label={`Expected by rule ${index + 1}`}
            item="Record"
            values={expected}
            placeholder={RECORDS[type]}
            problem={problem}
            onValues={(values) => onChange({ expected: values })}
          />
        )}
      </div>
      <IconButton icon="close" label={`Remove rule ${index + 1}`} onClick={onRemove} />
    </div>
  );
}
