import { useSignal, type Signal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { isAgentChecked } from '../../../core/monitors/monitor.ts';
import { Failure, capitalize } from '../../client/answer.ts';
import { api, type Schemas } from '../../client/api.ts';
import { useAction } from '../../parts/action.tsx';
import { Button } from '../../parts/button.tsx';
import { SelectField } from '../../parts/choice-fields.tsx';
import { Icon } from '../../parts/icon.tsx';
import { FactLine } from '../../parts/object-page.tsx';
import { Card } from '../../parts/page.tsx';
import { StatusMark } from '../../parts/status.tsx';
import { formatDay, formatLatency } from '../../parts/time.tsx';
import { TimingBar, hasTimings, sumTimings } from '../../plots/timing-bar.tsx';
import { AnswerEvidence } from '../monitor/check-details.tsx';
import { createBody, patchBody } from './body.ts';
import type { Draft } from './draft.ts';
import { problemsOf, type FormState, type Problems } from './problems.ts';
import { OP_WORDS, SOURCES } from './words.ts';

type Preview = Schemas['Trial'];
type Condition = Preview['conditions'][number];

const WORDS: Readonly<Record<Preview['verdict'], string>> = {
  up: 'Up',
  degraded: 'Degraded',
  down: 'Down',
  none: 'Couldn’t run the check',
};

/** The result of a preview; `isOld` if the draft has changed since. */
function PreviewResult({ preview, isOld }: { preview: Preview; isOld: boolean }) {
  const { verdict, region, reason, latency_ms: ms, phases, conditions, facts, certificate, answer } = preview;
  const from = [region === null ? '' : `from ${region}`, ms === null ? '' : `in ${formatLatency(ms)}`]
    .filter((part) => part !== '')
    .join(', ');
  return (
    <div class="flex flex-col gap-3.5 border-t border-line pt-3.5 text-sm">
      <div>
        <p class="flex items-center gap-2">
          <StatusMark status={verdict === 'none' ? 'pending' : verdict} silent class="size-3" />
          <span class="font-medium">{WORDS[verdict]}</span>
          <span class="text-soft">{from}</span>
        </p>
        {reason !== null && <p class="mt-1 break-words">{capitalize(reason)}</p>}
        {isOld && <p class="mt-1 text-[0.8125rem] text-degraded">The settings have changed: run the test again.</p>}
      </div>
      {hasTimings(phases) && <TimingBar timings={phases} fullMs={sumTimings(phases)} label="Timings of this check" />}
      {conditions.length > 0 && (
        <ul class="flex flex-col gap-1" aria-label="Assertions">
          {conditions.map((condition, index) => (
            <ConditionLine key={index} condition={condition} />
          ))}
        </ul>
      )}
      {(facts.length > 0 || certificate !== null) && (
        <dl class="grid gap-x-6 gap-y-1 md:grid-cols-[9rem_1fr]">
          {facts.map(({ name, text }, index) => (
            <FactLine key={index} name={capitalize(name)}>
              {text}
            </FactLine>
          ))}
          {certificate !== null && (
            <FactLine name="Certificate">
              {certificate.subject}, issued by {certificate.issuer}, valid until {formatDay(certificate.valid_to)}
            </FactLine>
          )}
        </dl>
      )}
      {answer !== null && (
        <details>
          <summary class="rounded text-[0.8125rem] font-medium text-soft hover:text-ink">Response</summary>
          <div class="mt-2">
            <AnswerEvidence answer={answer} />
          </div>
        </details>
      )}
    </div>
  );
}

function ConditionLine({ condition }: { condition: Condition }) {
  const { outcome, reason } = condition;
  const holds = outcome === 'holds';
  return (
    <li class="flex gap-2">
      <Icon
        name={holds ? 'check' : 'close'}
        class={`mt-1 size-3.5 ${holds ? 'text-up' : outcome === 'not_reached' ? 'text-soft' : 'text-down'}`}
      />
      <span class="min-w-0 break-words">
        <span class="sr-only">{holds ? 'Passed: ' : outcome === 'not_reached' ? 'Skipped: ' : 'Failed: '}</span>
        {sayCondition(condition)}
        {reason !== null && <span class="text-soft"> ({reason})</span>}
      </span>
    </li>
  );
}

function sayCondition({ source, op, value, path, name }: Condition): string {
  if (source === 'status') return `Status is ${value ?? ''}`;
  const { label, unit } = SOURCES[source];
  const word = Object.entries(OP_WORDS).find(([known]) => known === op)?.[1] ?? op;
  return [label, path ?? name, word, value, unit].filter((part) => part !== null && part !== '').join(' ');
}

type Props = { form: FormState; original: Draft; problems: Signal<Problems> };

const RUN_AGAIN = 'Some settings were refused. Run the test again to see which';

/** Runs one check of the draft from a shared location and shows the result; nothing is stored. */
export function PreviewCard({ form, original, problems }: Props) {
  const { draft, agents, surroundings, monitor } = form;
  const region = useSignal('');
  const result = useSignal<{ preview: Schemas['Trial']; draft: Draft } | null>(null);
  const failure = useSignal<string | null>(null);
  const regions = [...new Set(agents.filter(({ kind }) => kind === 'first_party').map((agent) => agent.region ?? ''))]
    .filter((each) => each !== '')
    .toSorted();
  const own = useRef<Problems | null>(null);
  const action = useAction((error) => {
    const found = problemsOf(error, draft);
    result.value = null;
    // After a save, its errors stay.
    if (error instanceof Failure && error.status === 400 && problems.peek() === own.current) problems.value = found;
    else if (error instanceof Failure && error.status === 429)
      failure.value = `Too many tests. Try again in ${error.retryAfter ?? 60} s`;
    else failure.value = [...found.rest, ...(Object.keys(found.byField).length > 0 ? [RUN_AGAIN] : [])].join('. ');
  });
  if (draft.type === 'heartbeat') return null;
  const isChoosable = isAgentChecked(draft.type) && regions.length > 1;
  const run = async () => {
    // A test needs no name.
    const { name: _, ...found } = form.judge();
    own.current = { byField: found, rest: [] };
    problems.value = own.current;
    if (Object.keys(found).length > 0) return;
    await action.run(async () => {
      failure.value = null;
      const body =
        monitor === null
          ? { monitor: withoutEmptyName(createBody(draft)) }
          : { monitor_id: monitor.id, monitor: patchBody(draft, { original, surroundings }) };
      const preview = await api.post('/trials', {
        body: { ...body, ...(isChoosable && region.value !== '' && { region: region.value }) },
      });
      result.value = { preview, draft };
    });
  };
  return (
    <Card>
      <div class="flex flex-wrap items-end gap-x-3 gap-y-3">
        <div class="min-w-0 flex-1 basis-52">
          <h2 class="heading text-sm">Test</h2>
          <p class="text-[0.8125rem] text-soft">Runs one check now. Sends no alerts and stores nothing.</p>
        </div>
        {isChoosable && (
          <SelectField
            label="From"
            hideLabel
            value={region.value}
            options={[
              { value: '', label: 'From any location' },
              ...regions.map((value) => ({ value, label: `From ${value}` })),
            ]}
            class="min-w-40"
            onValue={(value) => (region.value = value)}
          />
        )}
        <Button icon="play" busy={action.isBusy.value} disabled={draft.target.trim() === ''} onClick={() => void run()}>
          Run test
        </Button>
      </div>
      <div aria-live="polite" class="[&:not(:empty)]:mt-4">
        {failure.value !== null && <p class="text-sm text-down">{failure.value}</p>}
        {result.value !== null && <PreviewResult preview={result.value.preview} isOld={result.value.draft !== draft} />}
      </div>
    </Card>
  );
}

/** Removes an empty name, which a preview does not need. */
function withoutEmptyName({ name, ...rest }: Schemas['MonitorCreate']): Schemas['MonitorPatch'] {
  return name === '' ? rest : { name, ...rest };
}
