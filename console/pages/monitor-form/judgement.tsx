import { monitors } from '../../client/live.ts';
import { SelectField } from '../../parts/choice-fields.tsx';
import type { FormState } from './defaults.ts';
import { Collapsible, NumberField, FieldProblem } from './fields.tsx';

const STREAKS = ['1', '2', '3', '4', '5'].map((value) => ({ value, label: value }));

/** The thresholds, the timeout and the uptime target. */
export function Judgement({ form: { draft, change, defaults, problem } }: { form: FormState }) {
  const hasThresholds = draft.type !== 'heartbeat';
  const failures = draft.failures === '' ? String(defaults.failures) : draft.failures;
  const successes = draft.successes === '' ? String(defaults.successes) : draft.successes;
  return (
    <Collapsible
      title={hasThresholds ? 'Thresholds' : 'Target'}
      note={
        hasThresholds
          ? `down after ${failures}, up after ${successes}`
          : draft.slaTarget === ''
            ? 'no uptime target'
            : `${draft.slaTarget} %`
      }
      isOpen={draft.slaTarget !== ''}
    >
      <div class="grid gap-5 md:grid-cols-2">
        {hasThresholds && (
          <>
            <SelectField
              label="Failures until it is down"
              value={failures}
              options={STREAKS}
              hint="In a row. One is quick, two spare you hiccups."
              error={problem('down_after_failures')}
              onValue={(value) => change({ failures: value })}
            />
            <SelectField
              label="Successes until it is up again"
              value={successes}
              options={STREAKS}
              hint="In a row."
              error={problem('up_after_successes')}
              onValue={(value) => change({ successes: value })}
            />
            <NumberField
              label="Timeout"
              unit="ms"
              value={draft.timeout}
              standard={defaults.timeout}
              hint="For a whole check: at most 10000, and less than the interval."
              error={problem('timeout_ms')}
              onValue={(timeout) => change({ timeout })}
            />
          </>
        )}
        <NumberField
          label="Uptime target"
          unit="%"
          value={draft.slaTarget}
          standard={null}
          hint="Reports say whether it was met, such as 99.9."
          error={problem('sla_target')}
          onValue={(slaTarget) => change({ slaTarget })}
        />
      </div>
    </Collapsible>
  );
}

/** The vendor monitors that this one depends on; alerts mention them when they are in trouble. */
export function Dependencies({ form: { draft, change, problem } }: { form: FormState }) {
  if (draft.type === 'vendor') return null;
  const vendors = (monitors.value ?? []).filter(({ type }) => type === 'vendor');
  const toggle = (id: string, isOn: boolean) =>
    change({ dependencies: isOn ? [...draft.dependencies, id] : draft.dependencies.filter((each) => each !== id) });
  const { length } = draft.dependencies;
  return (
    <Collapsible
      title="Dependencies"
      note={length === 0 ? 'none' : `${length} ${length === 1 ? 'vendor' : 'vendors'}`}
      isOpen={length > 0}
    >
      <fieldset class="min-w-0">
        <legend class="text-sm font-medium">Depends on</legend>
        <p class="text-[0.8125rem] leading-5 text-soft">
          {vendors.length === 0
            ? 'There is no vendor monitor yet. Make one for a service that you build upon: alerts will say when it ' +
              'is in trouble, too.'
            : 'When it goes down, alerts say which of these are in trouble, too.'}
        </p>
        <FieldProblem text={problem('dependencies')} />
        <ul class="mt-1 grid gap-x-5 md:grid-cols-2">
          {vendors.map(({ id, name }) => (
            <li key={id}>
              <label class="flex items-center gap-2.5 py-1.5 text-sm">
                <input
                  type="checkbox"
                  checked={draft.dependencies.includes(id)}
                  onChange={(event) => toggle(id, event.currentTarget.checked)}
                  class="size-[1.125rem] shrink-0 accent-accent"
                />
                <span class="clipped min-w-0">{name}</span>
              </label>
            </li>
          ))}
        </ul>
      </fieldset>
    </Collapsible>
  );
}
