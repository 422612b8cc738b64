import type { ComponentType } from 'preact';
import { DurationField } from '../../forms/duration-field.tsx';
import { Fold } from '../../forms/fold.tsx';
import type { FormState } from '../../forms/form-state.ts';
import type { Draft, MonitorType } from '../../forms/monitor-draft.ts';
import { NumberField } from '../../forms/number-field.tsx';
import { CheckField } from '../../parts/field.tsx';
import { AnswerFields } from './answer-fields.tsx';
import { DnsFields } from './dns-fields.tsx';
import { RequestFields } from './request-fields.tsx';
import { TransportFields } from './transport-fields.tsx';

type Props = { form: FormState };

/** The folds that only some types have. */
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
    <Fold title="Echo requests" note={`${ping.count === '' ? 4 : ping.count} per check`} isOpen={isSet}>
      <div class="grid gap-5 md:grid-cols-3">
        <NumberField
          label="Requests"
          value={ping.count}
          standard={4}
          hint="Per check, up to 10."
          error={problem('check_spec.ping.count')}
          onValue={(count) => set({ count })}
        />
        <NumberField
          label="Degraded above loss of"
          unit="%"
          value={ping.lossDegradedPct}
          standard={null}
          hint="All lost is down."
          error={problem('check_spec.ping.lossDegradedPct')}
          onValue={(lossDegradedPct) => set({ lossDegradedPct })}
        />
        <NumberField
          label="Degraded above round trip of"
          unit="ms"
          value={ping.rttDegradedMs}
          standard={null}
          hint="The mean of a check."
          error={problem('check_spec.ping.rttDegradedMs')}
          onValue={(rttDegradedMs) => set({ rttDegradedMs })}
        />
      </div>
    </Fold>
  );
}

function HeartbeatFields({ form: { draft, change, problem } }: Props) {
  const { heartbeat } = draft;
  const set = (part: Partial<Draft['heartbeat']>) => change({ heartbeat: { ...heartbeat, ...part } });
  return (
    <Fold
      title="Runs"
      note={heartbeat.maxDuration === '' ? 'may take as long as they like' : 'limited in time'}
      isOpen={heartbeat.maxDuration !== '' || heartbeat.failEnabled === false}
    >
      <DurationField
        label="A run may take"
        seconds={heartbeat.maxDuration}
        onSeconds={(maxDuration) => set({ maxDuration })}
        standard={null}
        hint="For jobs that report their start as well. Empty: as long as it likes."
        error={problem('check_spec.heartbeat.maxDurationSeconds')}
      />
      <CheckField
        label="Take failures from the job"
        hint="/fail, or an exit status other than 0, is down at once."
        checked={heartbeat.failEnabled !== false}
        onChecked={(failEnabled) => set({ failEnabled })}
      />
    </Fold>
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
