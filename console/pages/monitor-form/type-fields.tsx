import type { ComponentType } from 'preact';
import { useRef } from 'preact/hooks';
import { Button, IconButton } from '../../parts/button.tsx';
import { CheckField, SelectField } from '../../parts/choice-fields.tsx';
import { TextField } from '../../parts/field.tsx';
import { count } from '../../parts/figures.ts';
import { CreatingCommand, PingKeyLink, usePingKey } from '../../parts/ping-key.tsx';
import { AnswerFields } from './answer-fields.tsx';
import type { DnsRecordDraft, Draft, MonitorType, TransportDraft } from './draft.ts';
import {
  Collapsible,
  DurationField,
  FieldProblem,
  NumberField,
  SecretTextField,
  TextList,
  focusLastRow,
} from './fields.tsx';
import { recordField } from './judge-spec.ts';
import type { FormState } from './problems.ts';
import { RequestFields } from './request-fields.tsx';
import { MODE_WORDS, RECORDS } from './words.ts';

const ENCODINGS = [
  { value: 'utf8', label: 'Text, with \\r \\n \\t \\\\ \\xHH' },
  { value: 'hex', label: 'Hexadecimal' },
];
const MODES = [
  { value: 'contains', label: 'contains' },
  { value: 'regex', label: 'matches regex (RE2)' },
];

/** The payload of a tcp or udp monitor, and the expected reply. */
function TransportFields({ form: { draft, change, problem, monitor } }: { form: FormState }) {
  const { transport, type } = draft;
  const set = (part: Partial<TransportDraft>) => change({ transport: { ...transport, ...part } });
  const isSet = transport.payload.kind !== 'none' || transport.expect !== '';
  return (
    <Collapsible
      title="Send and expect"
      note={
        isSet
          ? [transport.payload.kind !== 'none' && 'payload', transport.expect !== '' && 'expected reply']
              .filter((part) => part !== false)
              .join(', ')
          : type === 'tcp'
            ? 'connection only'
            : 'any reply'
      }
      isOpen={isSet || type === 'udp'}
    >
      <SecretTextField
        label="Payload"
        value={transport.payload}
        isStored={monitor?.check_spec.transport?.payloadSecret === true}
        onValue={(payload) => set({ payload })}
        placeholder={type === 'tcp' ? 'PING\\r\\n' : '\\x1b\\x00'}
        hint={
          type === 'tcp'
            ? 'Sent after connecting. Leave empty to send nothing.'
            : 'The datagram to send. Leave empty for an empty one.'
        }
        secretHint="Write-only: stored encrypted, never shown again."
        error={problem('check_spec.transport.payload')}
      />
      <SelectField
        label="Payload encoding"
        value={transport.encoding === '' ? 'utf8' : transport.encoding}
        options={ENCODINGS}
        error={problem('check_spec.transport.payloadEncoding')}
        onValue={(value) => set({ encoding: value as TransportDraft['encoding'] })}
      />
      <div class="grid gap-5 md:grid-cols-[1fr_2fr]">
        <SelectField
          label="Reply"
          value={transport.expectMode === '' ? 'contains' : transport.expectMode}
          options={MODES}
          onValue={(value) => set({ expectMode: value as TransportDraft['expectMode'] })}
        />
        <TextField
          label="Expected text"
          value={transport.expect}
          placeholder={type === 'tcp' ? '+PONG' : 'anything'}
          hint={type === 'tcp' ? 'Leave empty to check the connection only.' : 'Leave empty to accept any reply.'}
          autocapitalize="off"
          spellcheck={false}
          error={problem('check_spec.transport.expect')}
          onValue={(expect) => set({ expect })}
        />
      </div>
    </Collapsible>
  );
}

type Props = { form: FormState };

/** The sections of the draft's type. */
export function TypeFields({ form }: Props) {
  return (
    <>
      {OF_TYPE[form.draft.type].map((Part) => (
        <Part key={Part.name} form={form} />
      ))}
    </>
  );
}

function PingFields({ form: { draft, change, problem } }: Props) {
  const { ping } = draft;
  const set = (part: Partial<Draft['ping']>) => change({ ping: { ...ping, ...part } });
  const isSet = ping.count !== '' || ping.lossDegradedPct !== '' || ping.rttDegradedMs !== '';
  return (
    <Collapsible title="Echo requests" note={`${ping.count === '' ? 4 : ping.count} per check`} isOpen={isSet}>
      <div class="grid gap-5 md:grid-cols-3">
        <NumberField
          label="Requests"
          value={ping.count}
          standard={4}
          hint="Per check, 1 to 10."
          error={problem('check_spec.ping.count')}
          onValue={(value) => set({ count: value })}
        />
        <NumberField
          label="Degraded above packet loss"
          unit="%"
          value={ping.lossDegradedPct}
          standard={null}
          hint="100% loss is down."
          error={problem('check_spec.ping.lossDegradedPct')}
          onValue={(lossDegradedPct) => set({ lossDegradedPct })}
        />
        <NumberField
          label="Degraded above round trip"
          unit="ms"
          value={ping.rttDegradedMs}
          standard={null}
          hint="Average of one check."
          error={problem('check_spec.ping.rttDegradedMs')}
          onValue={(rttDegradedMs) => set({ rttDegradedMs })}
        />
      </div>
    </Collapsible>
  );
}

function HeartbeatFields({ form: { draft, change, problem, monitor } }: Props) {
  const { heartbeat } = draft;
  const set = (part: Partial<Draft['heartbeat']>) => change({ heartbeat: { ...heartbeat, ...part } });
  return (
    <>
      <Collapsible
        title="Runs"
        note={heartbeat.maxDuration === '' ? 'no max run time' : 'max run time set'}
        isOpen={heartbeat.maxDuration !== '' || heartbeat.failEnabled === false}
      >
        <DurationField
          label="Max run time"
          seconds={heartbeat.maxDuration}
          onSeconds={(maxDuration) => set({ maxDuration })}
          standard={null}
          hint="For jobs that also ping /start. Leave empty for no limit."
          error={problem('check_spec.heartbeat.maxDurationSeconds')}
        />
        <CheckField
          label="Alert on /fail or non-zero exit"
          hint="Marks the monitor down at once."
          checked={heartbeat.failEnabled !== false}
          onChecked={(failEnabled) => set({ failEnabled })}
        />
      </Collapsible>
      {monitor === null && <ByFirstPing />}
    </>
  );
}

/** How to create heartbeats without this form, for users with many jobs. */
function ByFirstPing() {
  const { value: answer } = usePingKey().value;
  const key = answer?.ping_key?.key;
  return (
    <Collapsible title="Many jobs" note="created by their first ping" isOpen={false}>
      {key === undefined ? (
        <p class="text-sm text-soft">
          With a <PingKeyLink /> jobs create their heartbeats by their first ping, without this form.
        </p>
      ) : (
        <CreatingCommand pingKey={key} />
      )}
    </Collapsible>
  );
}

const OF_TYPE: Readonly<Record<MonitorType, readonly ComponentType<Props>[]>> = {
  http: [AnswerFields, RequestFields],
  tcp: [TransportFields],
  udp: [TransportFields],
  icmp: [PingFields],
  dns: [DnsFields],
  heartbeat: [HeartbeatFields],
  domain: [],
  vendor: [],
};

/** The records that a name must have. */
function DnsFields({ form: { draft, change, problem } }: { form: FormState }) {
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
      note={records.length === 0 ? 'any A or AAAA record' : count(records.length, 'rule')}
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
const DNS_MODES = Object.entries(MODE_WORDS).map(([value, label]) => ({ value, label }));

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
  /** Error of an expected record, by its index. */
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
            options={DNS_MODES}
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
