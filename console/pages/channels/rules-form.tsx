import { useSignal } from '@preact/signals';
import { useMemo, useRef } from 'preact/hooks';
import type { MonitorEvent } from '../../../core/alerts/event.ts';
import { MAX_RULES, describeRule, findRuleProblems, type ChannelRule } from '../../../core/alerts/rules.ts';
import { sortTags, splitTags } from '../../../core/monitors/monitor.ts';
import { DAY_SECONDS } from '../../../core/time.ts';
import { api, type Schemas } from '../../client/api.ts';
import { isSame, refuseStale } from '../../client/concurrent-edits.ts';
import { canWrite, useDraft } from '../../client/session-state.ts';
import { toast, useAction, useJudgedForm } from '../../parts/action.tsx';
import { Button } from '../../parts/button.tsx';
import { CheckField, SelectField, ZoneField } from '../../parts/choice-fields.tsx';
import { CurlButton } from '../../parts/copy.tsx';
import { useUnsaved } from '../../parts/dialog.tsx';
import { Form, FormError, TextField } from '../../parts/field.tsx';
import { count } from '../../parts/figures.ts';
import { judgeTags } from '../../parts/monitors.ts';
import { Card } from '../../parts/page.tsx';
import { formatDateTime } from '../../parts/time.tsx';
import type { Channel } from './words.tsx';

const EVENTS = [
  ['monitor.down', 'Down'],
  ['monitor.degraded', 'Degraded'],
  ['monitor.unknown', 'Unknown'],
  ['monitor.up', 'Recovered'],
] as const satisfies readonly (readonly [MonitorEvent, string])[];

const MINUTE_SECONDS = 60;

/** Input of a rule: numbers in minutes, texts unchanged. */
type Draft = {
  events: readonly MonitorEvent[];
  tags: string;
  afterMinutes: string;
  repeatMinutes: string;
  repeatMax: string;
  unlessAcknowledged: boolean;
  quiet: 'none' | 'defer' | 'drop';
  hours: string;
  timezone: string;
};

const NEW_RULE: Draft = {
  events: EVENTS.map(([event]) => event),
  tags: '',
  afterMinutes: '',
  repeatMinutes: '',
  repeatMax: '',
  unlessAcknowledged: false,
  quiet: 'none',
  hours: 'Mo-Su 22:00-07:00',
  timezone: 'UTC',
};

/** Errors of the fields when a rule cannot be saved, by their names in the API. */
const TEXTS: Readonly<Record<string, string>> = {
  '': 'Never used: an earlier rule matches the same events and tags. Move it up or remove it.',
  after_seconds: 'Recoveries are never delayed. Choose another event as well',
  repeat_seconds: 'Recoveries are never repeated. Choose another event as well',
  repeat_max: 'Enter a repeat interval',
  unless_acknowledged: 'Requires a delay or a repeat interval',
  'quiet.timezone': 'Choose a time zone',
  'quiet.hours': 'Use a format like Mo-Su 22:00-07:00, and leave part of the week free',
};

/** The rules of a channel: as sentences for viewers, as a form for users who may change them. */
export function Rules({ channel, onChanged }: { channel: Channel; onChanged: () => Promise<void> }) {
  return canWrite() ? <RulesForm channel={channel} onChanged={onChanged} /> : <Sentences channel={channel} />;
}

/** The rules of a channel as sentences. */
export function Sentences({ channel: { rule_sentences: sentences = [] } }: { channel: Channel }) {
  return (
    <Card>
      {sentences.length === 0 ? (
        <p class="text-sm">Every event is sent at once.</p>
      ) : (
        <ol class="list-decimal pl-5 text-sm">
          {sentences.map((sentence) => (
            <li key={sentence}>{sentence}</li>
          ))}
        </ol>
      )}
    </Card>
  );
}

/** Typed input, and the rules that it began with; an earlier release stored neither under these names. */
type KeptRules = { from?: SentRule[]; drafts?: readonly Draft[] };

function RulesForm({ channel, onChanged }: { channel: Channel; onChanged: () => Promise<void> }) {
  const known = useRef(sentRules(channel));
  const initial = useMemo(() => known.current.map(draftOf), []);
  const drafts = useDraft<readonly Draft[], KeptRules>(`channel ${channel.id} rules`, initial, {
    store: (typed) => ({ from: known.current, drafts: typed }),
    restore: ({ from = known.current, drafts: typed = initial }) => {
      known.current = from;
      return typed;
    },
  });
  // Fields with typed text of their own, such as the time zone, go with their rule.
  const keys = useRef<object[]>([]);
  while (keys.current.length < drafts.value.length) keys.current.push({});
  const form = useJudgedForm({ rules: 'These rules cannot be saved' });
  const preview = useSignal<{ of: readonly Draft[]; found: Schemas['RulesPreview'] } | null>(null);
  const previewing = useAction();
  const show = () =>
    previewing.run(async () => {
      const { value: of } = drafts;
      const problems = judge(of);
      if (Object.keys(problems).length > 0) return await form.submit(problems, () => Promise.resolve());
      const path = { id: channel.id };
      preview.value = { of, found: await api.post('/channels/{id}/rules/preview', { path, body: body() }) };
    });
  const change = (index: number, changed: Partial<Draft>) =>
    (drafts.value = drafts.value.map((draft, at) => (at === index ? { ...draft, ...changed } : draft)));
  const body = () => ({ rules: drafts.value.map(ruleOf) });
  useUnsaved(() => !isSame(body().rules, known.current), form.isBusy.value, 'tab');
  const save = () =>
    form.submit(judge(drafts.value), async () => {
      const path = { id: channel.id };
      const sent = body();
      const present = sentRules(await api.get('/channels/{id}', { path }));
      refuseStale(known, { present, sent: sent.rules }, 'these rules');
      await api.patch('/channels/{id}', { path, body: sent });
      known.current = sent.rules;
      await onChanged();
      toast('Rules saved');
    });
  return (
    <Card>
      <Form class="flex flex-col gap-5" onSubmit={save}>
        {drafts.value.length === 0 && <p class="text-sm">Every event is sent at once.</p>}
        {drafts.value.map((draft, index) => (
          <RuleFields
            key={keys.current[index]}
            number={index + 1}
            draft={draft}
            problem={(field) => form.problem(`${index}.${field}`)}
            onChange={(changed) => change(index, changed)}
            onRemove={() => {
              form.clear();
              keys.current.splice(index, 1);
              drafts.value = drafts.value.filter((_, at) => at !== index);
            }}
          />
        ))}
        <FormError text={form.rest} />
        <div class="flex flex-wrap items-center gap-2">
          <Button type="submit" tone="primary" busy={form.isBusy.value}>
            Save rules
          </Button>
          {drafts.value.length < MAX_RULES && (
            <Button icon="plus" onClick={() => (drafts.value = [...drafts.value, NEW_RULE])}>
              Add a rule
            </Button>
          )}
          <Button busy={previewing.isBusy.value} onClick={() => void show()}>
            Preview last 30 days
          </Button>
          <CurlButton request={() => ({ method: 'PATCH', path: `/channels/${channel.id}`, body: body() })} />
        </div>
        {preview.value?.of === drafts.value && <Preview preview={preview.value.found} />}
      </Form>
    </Card>
  );
}

/** Most alerts of a preview that are listed. */
const MAX_LISTED = 20;

function Preview({ preview: { sent, not_sent: notSent, alerts } }: { preview: Schemas['RulesPreview'] }) {
  return (
    <div role="status" class="text-sm">
      <p class="font-medium">
        {count(sent, 'alert')} would have been sent in the last 30 days, {notSent} held back.
      </p>
      {alerts.length > 0 && (
        <ul class="mt-2 flex flex-col gap-1 text-soft">
          {alerts.slice(0, MAX_LISTED).map((alert, index) => (
            <li key={index}>
              {formatDateTime(alert.at)} · {alert.monitor_name} · {describeAlert(alert)}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function describeAlert({ event, outcome, reminder }: Schemas['PreviewedAlert']): string {
  const label = EVENTS.find(([each]) => each === event)?.[1] ?? event;
  return `${label}${reminder === null ? '' : `, reminder ${reminder}`}${outcome === 'sent' ? '' : ', held back'}`;
}

type FieldsProps = {
  number: number;
  draft: Draft;
  problem: (field: string) => string | undefined;
  onChange: (changed: Partial<Draft>) => void;
  onRemove: () => void;
};

function RuleFields({ number, draft, problem, onChange, onRemove }: FieldsProps) {
  const toggle = (event: MonitorEvent, isChosen: boolean) =>
    onChange({
      events: EVENTS.map(([each]) => each).filter((each) => (each === event ? isChosen : draft.events.includes(each))),
    });
  return (
    <fieldset class="flex flex-col gap-3 rounded-lg border border-line p-4">
      <legend class="px-1 text-sm font-medium">Rule {number}</legend>
      <p class="text-sm text-soft">{describeRule(ruleOf(draft))}</p>
      <FormError text={problem('') ?? null} />
      <div class="flex flex-wrap gap-x-5 gap-y-2" role="group" aria-label="Events">
        {EVENTS.map(([event, label]) => (
          <CheckField
            key={event}
            label={label}
            checked={draft.events.includes(event)}
            onChecked={(isChosen) => toggle(event, isChosen)}
          />
        ))}
      </div>
      <FormError text={problem('events') ?? null} />
      <TextField
        label="Tags"
        hint="Monitors with any of them, such as env:prod; empty for all."
        value={draft.tags}
        onValue={(tags) => onChange({ tags })}
        error={problem('tags')}
      />
      <div class="grid gap-3 md:grid-cols-3">
        <TextField
          label="After (minutes)"
          inputMode="numeric"
          hint="Empty for at once."
          value={draft.afterMinutes}
          onValue={(afterMinutes) => onChange({ afterMinutes })}
          error={problem('after_seconds')}
        />
        <TextField
          label="Repeat every (minutes)"
          inputMode="numeric"
          hint="Empty for once."
          value={draft.repeatMinutes}
          onValue={(repeatMinutes) => onChange({ repeatMinutes })}
          error={problem('repeat_seconds')}
        />
        <TextField
          label="At most (times)"
          inputMode="numeric"
          hint="1 to 20; empty for 10."
          value={draft.repeatMax}
          onValue={(repeatMax) => onChange({ repeatMax })}
          error={problem('repeat_max')}
        />
      </div>
      <CheckField
        label="Unless acknowledged"
        checked={draft.unlessAcknowledged}
        onChecked={(unlessAcknowledged) => onChange({ unlessAcknowledged })}
        error={problem('unless_acknowledged') ?? null}
      />
      <SelectField
        label="Quiet hours"
        options={[
          { value: 'none', label: 'None' },
          { value: 'defer', label: 'Wait until they end' },
          { value: 'drop', label: 'Do not send' },
        ]}
        value={draft.quiet}
        onValue={(quiet) => onChange({ quiet: quiet === 'defer' || quiet === 'drop' ? quiet : 'none' })}
      />
      {draft.quiet !== 'none' && (
        <div class="grid gap-3 md:grid-cols-2">
          <TextField
            label="Hours"
            value={draft.hours}
            onValue={(hours) => onChange({ hours })}
            error={problem('quiet.hours')}
          />
          <ZoneField
            value={draft.timezone}
            onValue={(timezone) => onChange({ timezone })}
            error={problem('quiet.timezone')}
          />
        </div>
      )}
      <Button size="small" class="self-start" icon="trash" onClick={onRemove}>
        Remove rule {number}
      </Button>
    </fieldset>
  );
}

/** Finds the errors of each rule, by its number and field: first the texts that are no numbers. */
function judge(drafts: readonly Draft[]): Record<string, string | null> {
  const found: Record<string, string | null> = {};
  for (const [index, draft] of drafts.entries()) {
    const put = (field: string, text: string | undefined) => {
      if (text !== undefined) found[`${index}.${field}`] = text;
    };
    put('events', draft.events.length === 0 ? 'Choose an event' : undefined);
    put('tags', judgeTags(draft.tags));
    put('after_seconds', judgeMinutes(draft.afterMinutes, 0));
    put('repeat_seconds', judgeMinutes(draft.repeatMinutes, MINUTE_SECONDS));
    put('repeat_max', judgeNumber(draft.repeatMax, 1, 20));
  }
  for (const { field } of findRuleProblems(drafts.map(ruleOf))) {
    const [, index = '', name = ''] = /^rules\[(\d+)\]\.?(.*)$/.exec(field) ?? [];
    found[`${index}.${name}`] ??= TEXTS[name] ?? null;
  }
  return found;
}

/** Judges minutes by their seconds: the API takes whole ones, up to a day. */
function judgeMinutes(text: string, leastSeconds: number): string | undefined {
  if (text.trim() === '') return undefined;
  const seconds = secondsOf(text);
  const isExact = Math.abs(seconds - Number(text) * MINUTE_SECONDS) < 0.01;
  return isExact && seconds >= leastSeconds && seconds <= DAY_SECONDS
    ? undefined
    : `${leastSeconds / MINUTE_SECONDS} to 1440 minutes`;
}

/** Converts typed minutes to seconds, such as 2.5 or, for 100 seconds, 1.6667. */
function secondsOf(minutes: string): number {
  return Math.round(Number(minutes) * MINUTE_SECONDS);
}

function judgeNumber(text: string, least: number, most: number): string | undefined {
  if (text.trim() === '') return undefined;
  const number = Number(text);
  return Number.isInteger(number) && number >= least && number <= most
    ? undefined
    : `A whole number, ${least} to ${most}`;
}

type SentRule = ChannelRule & { events?: MonitorEvent[]; tags?: string[] };

/** Returns the stored rules of a channel, as the form would send them. */
function sentRules({ rules = [] }: Channel): SentRule[] {
  return rules.map(draftOf).map(ruleOf);
}

function ruleOf(draft: Draft): SentRule {
  const { events, afterMinutes, repeatMinutes, repeatMax, unlessAcknowledged, quiet, hours, timezone } = draft;
  const tags = sortTags(splitTags(draft.tags));
  return {
    ...(events.length < EVENTS.length && { events: [...events] }),
    ...(tags.length > 0 && { tags }),
    ...(afterMinutes.trim() !== '' && { after_seconds: secondsOf(afterMinutes) }),
    ...(repeatMinutes.trim() !== '' && { repeat_seconds: secondsOf(repeatMinutes) }),
    ...(repeatMax.trim() !== '' && { repeat_max: Number(repeatMax) }),
    ...(unlessAcknowledged && { unless_acknowledged: true }),
    ...(quiet !== 'none' && { quiet: { timezone, hours: hours.trim(), mode: quiet } }),
  };
}

function draftOf(rule: ChannelRule): Draft {
  const minutes = (seconds: number | undefined) =>
    seconds === undefined ? '' : String(Number((seconds / MINUTE_SECONDS).toFixed(4)));
  return {
    events: rule.events ?? NEW_RULE.events,
    tags: (rule.tags ?? []).join(', '),
    afterMinutes: minutes(rule.after_seconds),
    repeatMinutes: minutes(rule.repeat_seconds),
    repeatMax: rule.repeat_max === undefined ? '' : String(rule.repeat_max),
    unlessAcknowledged: rule.unless_acknowledged === true,
    quiet: rule.quiet?.mode ?? 'none',
    hours: rule.quiet?.hours ?? NEW_RULE.hours,
    timezone: rule.quiet?.timezone ?? NEW_RULE.timezone,
  };
}
