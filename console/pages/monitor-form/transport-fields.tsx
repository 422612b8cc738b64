import { Fold } from '../../forms/fold.tsx';
import type { FormState } from '../../forms/form-state.ts';
import type { TransportDraft } from '../../forms/monitor-draft.ts';
import { SecretTextField } from '../../forms/secret-text-field.tsx';
import { SelectField, TextField } from '../../parts/field.tsx';

const ENCODINGS = [
  { value: 'utf8', label: 'Text, with \\r \\n \\t \\\\ \\xHH' },
  { value: 'hex', label: 'Hexadecimal' },
];
const MODES = [
  { value: 'contains', label: 'contains' },
  { value: 'regex', label: 'matches (RE2)' },
];

/** What is sent over tcp or udp, and what is to come back. */
export function TransportFields({ form: { draft, change, problem, monitor } }: { form: FormState }) {
  const { transport, type } = draft;
  const set = (part: Partial<TransportDraft>) => change({ transport: { ...transport, ...part } });
  const isSet = transport.payload.kind !== 'none' || transport.expect !== '';
  return (
    <Fold
      title="Send and expect"
      note={
        isSet
          ? [transport.payload.kind !== 'none' && 'payload', transport.expect !== '' && 'expected answer']
              .filter((part) => part !== false)
              .join(', ')
          : type === 'tcp'
            ? 'a connection is enough'
            : 'any reply is enough'
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
            ? 'Sent after connecting. Empty: nothing is sent.'
            : 'The datagram that is sent. Empty: one without content.'
        }
        secretHint="Stored encrypted: it cannot be read again, only replaced."
        error={problem('check_spec.transport.payload')}
      />
      <SelectField
        label="Payload is written as"
        value={transport.encoding === '' ? 'utf8' : transport.encoding}
        options={ENCODINGS}
        error={problem('check_spec.transport.payloadEncoding')}
        onValue={(value) => set({ encoding: value as TransportDraft['encoding'] })}
      />
      <div class="grid gap-5 md:grid-cols-[1fr_2fr]">
        <SelectField
          label="The answer"
          value={transport.expectMode === '' ? 'contains' : transport.expectMode}
          options={MODES}
          onValue={(value) => set({ expectMode: value as TransportDraft['expectMode'] })}
        />
        <TextField
          label="Expected text"
          value={transport.expect}
          placeholder={type === 'tcp' ? '+PONG' : 'anything'}
          hint={type === 'tcp' ? 'Empty: the connection alone will do.' : 'Empty: any reply will do.'}
          autocapitalize="off"
          spellcheck={false}
          error={problem('check_spec.transport.expect')}
          onValue={(expect) => set({ expect })}
        />
      </div>
    </Fold>
  );
}
