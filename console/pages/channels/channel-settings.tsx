import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { formatDuration } from '../../../core/time.ts';
import { api, type Schemas } from '../../client/api.ts';
import { changesOf, joinChanges, staleFailure } from '../../client/concurrent-edits.ts';
import { canWrite, useDraft } from '../../client/session-state.ts';
import { required, toast, useAction, useJudgedForm } from '../../parts/action.tsx';
import { Button } from '../../parts/button.tsx';
import { CheckField, Choices, SelectField, ZoneField } from '../../parts/choice-fields.tsx';
import { CopyButton, CopyText, CurlButton, ShownOnceDialog, useCopy } from '../../parts/copy.tsx';
import { confirm, useUnsaved } from '../../parts/dialog.tsx';
import { Form, FormError, TextField } from '../../parts/field.tsx';
import { count } from '../../parts/figures.ts';
import { Icon } from '../../parts/icon.tsx';
import { ChangesLink } from '../../parts/object-page.tsx';
import { Card, Section } from '../../parts/page.tsx';
import { formatDateTime } from '../../parts/time.tsx';
import { PATHS } from '../../paths.ts';
import go from '../../samples/verify.go?raw';
// oxlint-disable-next-line import/default -- `?raw` gives the file's text, whatever it exports.
import node from '../../samples/verify.mjs?raw';
import php from '../../samples/verify.php?raw';
import python from '../../samples/verify.py?raw';
import { currentVisit, leaveDeleted } from '../../shell/router.ts';
import { Routing, describeTags, judgeRoute, routeBody, routeOf, type Route } from './monitor-choice.tsx';
import { Rules } from './rules-form.tsx';
import { WebhookForm } from './webhook-form.tsx';
import { FOLLOWS, reportsHint, type Channel } from './words.tsx';

export const CHANNEL_TEXTS = {
  name: 'At most 255 characters',
  monitor_ids: 'At most 1000 monitors: choose all instead',
  monitor_tags: 'At most 20 tags like env:prod',
  reports: 'Reports go to chats and emails only',
  group_seconds: 'At most 5 minutes',
  summarize_flapping: 'Webhooks are sent each change',
  report_timezone: 'At most 10 time zones in an account: choose one of another channel, or UTC',
} as const;

type SettingsProps = { channel: Channel; onChanged: () => Promise<void> };

/** A channel's name, routing and secret, and its deletion; viewers see the settings only. */
export function ChannelSettings({ channel, onChanged }: SettingsProps) {
  return (
    <div class="max-w-2xl">
      <Section title="Alerts" actions={<ChangesLink kind="channel" id={channel.id} />}>
        {canWrite() ? <ChannelForm channel={channel} onChanged={onChanged} /> : <Facts channel={channel} />}
      </Section>
      <Section title="Rules" lead="The first rule that matches an event decides when it is sent.">
        <Rules channel={channel} onChanged={onChanged} />
      </Section>
      {channel.type === 'webhook' && canWrite() && (
        <Section title="Destination" lead="A test alert is sent before the change is saved.">
          <WebhookForm channel={channel} onChanged={onChanged} />
        </Section>
      )}
      {channel.type === 'webhook' && (
        <Section
          title="Signature"
          lead="Every delivery is signed with the channel’s secret."
          actions={canWrite() && <RotateSecret channel={channel} />}
        >
          <SampleCode />
        </Section>
      )}
      {canWrite() && (
        <Section title="Delete" lead="Alerts stop, and its delivery log is deleted.">
          <DeleteChannel channel={channel} />
        </Section>
      )}
    </div>
  );
}

type ChannelFields = Schemas['ChannelPatch'];

/** Returns the fields of the form as the channel has them. */
function fieldsOf(channel: Channel): ChannelFields {
  return {
    name: channel.name,
    ...routeBody(routeOf(channel)),
    group_seconds: channel.group_seconds ?? 0,
    summarize_flapping: channel.summarize_flapping ?? false,
    follows_maintenance: channel.follows_maintenance ?? false,
    reports: channel.reports ?? false,
    report_timezone: channel.report_timezone ?? 'UTC',
  };
}

/** The input of the form. */
type Draft = {
  name: string;
  route: Route;
  reports: boolean;
  zone: string;
  grouping: string;
  isSummarizing: boolean;
  isFollowing: boolean;
};

function draftOf(channel: Channel): Draft {
  return {
    name: channel.name,
    route: routeOf(channel),
    reports: channel.reports ?? false,
    zone: channel.report_timezone ?? 'UTC',
    grouping: String(channel.group_seconds ?? 0),
    isSummarizing: channel.summarize_flapping ?? false,
    isFollowing: channel.follows_maintenance ?? false,
  };
}

function ChannelForm({ channel, onChanged }: SettingsProps) {
  const saved = useRef(fieldsOf(channel));
  const input = useDraft<Draft, { from: ChannelFields; draft: Draft }>(
    `channel ${channel.id} settings`,
    draftOf(channel),
    {
      store: (draft) => ({ from: saved.current, draft }),
      restore: ({ from, draft }) => {
        saved.current = from;
        return draft;
      },
    },
  );
  const { name, route, reports, zone, grouping, isSummarizing, isFollowing } = input.value;
  const change = (changed: Partial<Draft>) => (input.value = { ...input.value, ...changed });
  const form = useJudgedForm(CHANNEL_TEXTS);
  const fields = (): ChannelFields => {
    const draft = input.peek();
    return {
      name: draft.name.trim(),
      ...routeBody(draft.route),
      ...(channel.preset === undefined && channel.template === undefined && { group_seconds: Number(draft.grouping) }),
      ...(channel.type !== 'webhook' && { summarize_flapping: draft.isSummarizing }),
      ...(channel.follows_maintenance !== undefined && { follows_maintenance: draft.isFollowing }),
      ...(channel.reports !== undefined && { reports: draft.reports }),
      ...(channel.report_timezone !== undefined && { report_timezone: draft.zone }),
    };
  };
  const body = () => changesOf(saved.current, fields());
  useUnsaved(() => Object.keys(body()).length > 0, form.isBusy.value, 'tab');
  const save = () =>
    form.submit({ name: required(name.trim(), 'Enter a name'), ...judgeRoute(route) }, async () => {
      const path = { id: channel.id };
      // Input typed from here on is not saved.
      const sent = fields();
      const present = await api.get('/channels/{id}', { path });
      const { changes, theirs } = joinChanges(saved.current, sent, fieldsOf(present));
      if (theirs !== null) {
        // So that the next save goes ahead.
        saved.current = { ...saved.current, ...theirs };
        throw staleFailure('this channel');
      }
      await api.patch('/channels/{id}', { path, body: changes });
      saved.current = sent;
      if (changes.monitor_ids !== undefined && input.peek().route === route) {
        saved.current = { ...sent, monitor_ids: changes.monitor_ids };
        change({ route: { ...route, ids: changes.monitor_ids } });
      }
      await onChanged();
      toast('Saved');
    });
  return (
    <Card>
      <Form class="flex flex-col gap-5" onSubmit={save}>
        <TextField
          label="Name"
          required
          maxLength={255}
          value={name}
          onValue={(value) => change({ name: value })}
          error={form.problem('name')}
        />
        <Routing
          route={route}
          onRoute={(value) => change({ route: value })}
          error={form.problem('monitor_ids')}
          tagError={form.problem('monitor_tags')}
        />
        {channel.preset === undefined && channel.template === undefined && (
          <SelectField
            label="Group alerts"
            hint="The first alert is sent at once; others with the same cause join it."
            value={grouping}
            options={groupingOptions(channel.group_seconds)}
            onValue={(value) => change({ grouping: value })}
            error={form.problem('group_seconds')}
          />
        )}
        {channel.type !== 'webhook' && (
          <CheckField
            label="Summarize flapping"
            hint="Two messages, then one when a monitor is unstable and one when it is stable."
            checked={isSummarizing}
            onChecked={(value) => change({ isSummarizing: value })}
            error={form.problem('summarize_flapping') ?? null}
          />
        )}
        {channel.follows_maintenance !== undefined && (
          <CheckField
            label={FOLLOWS.label}
            hint={FOLLOWS.hint}
            checked={isFollowing}
            onChecked={(value) => change({ isFollowing: value })}
          />
        )}
        {channel.reports !== undefined && (
          <CheckField
            label="Send reports"
            hint={reportsHint(channel.type)}
            checked={reports}
            onChecked={(value) => change({ reports: value })}
            error={form.problem('reports') ?? null}
          />
        )}
        {channel.report_timezone !== undefined && reports && (
          <ZoneField
            value={zone}
            onValue={(value) => change({ zone: value })}
            error={form.problem('report_timezone')}
            hint="Weeks and months begin at midnight there."
          />
        )}
        <FormError text={form.rest} />
        <div class="flex flex-wrap items-center gap-2">
          <Button type="submit" tone="primary" busy={form.isBusy.value}>
            Save
          </Button>
          <CurlButton request={() => ({ method: 'PATCH', path: `/channels/${channel.id}`, body: body() })} />
        </div>
      </Form>
    </Card>
  );
}

/** Returns some usual choices, and that of the channel. */
function groupingOptions(seconds = 0): { value: string; label: string }[] {
  const choices = [...new Set([0, 10, 30, 60, 300, seconds])].toSorted((a, b) => a - b);
  return choices.map((choice) => ({
    value: String(choice),
    label: choice === 0 ? 'Never' : `Within ${formatDuration(choice)}`,
  }));
}

function Facts({ channel }: { channel: Channel }) {
  const tags = describeTags(channel);
  const chosen = `${count(channel.monitor_ids.length, 'monitor')}${tags === '' ? '' : ` and monitors with ${tags}`}`;
  return (
    <Card>
      <p class="text-sm">
        {channel.all_monitors ? 'Sends alerts for all monitors.' : `Sends alerts for ${chosen}.`}
        {channel.reports === true && ' Sends reports.'}
        {channel.follows_maintenance === true && ' Waits during maintenance and mutes.'} Created{' '}
        {formatDateTime(channel.created_at)}.
      </p>
    </Card>
  );
}

function RotateSecret({ channel }: { channel: Channel }) {
  const secret = useSignal<string | null>(null);
  const action = useAction();
  const rotate = async () => {
    const text = 'The new secret signs immediately. The current one also signs for another 24 hours.';
    if (!(await confirm({ title: 'Rotate the signing secret?', text, action: 'Rotate secret', tone: 'primary' })))
      return;
    await action.run(
      async () =>
        void (secret.value = (
          await api.post('/channels/{id}/rotate-secret', { path: { id: channel.id } })
        ).signing_secret),
    );
  };
  return (
    <>
      <Button size="small" icon="key" busy={action.isBusy.value} onClick={() => void rotate()}>
        Rotate secret
      </Button>
      {secret.value !== null && (
        <ShownOnceDialog
          title="New signing secret"
          question="Saved the secret?"
          text="It’s shown only once. If you lose it, rotate it again."
          onClose={() => (secret.value = null)}
        >
          <SigningSecret secret={secret.value} />
        </ShownOnceDialog>
      )}
    </>
  );
}

function DeleteChannel({ channel }: { channel: Channel }) {
  const action = useAction();
  const remove = async () => {
    if (
      !(await confirm({
        title: `Delete ${channel.name}?`,
        text: 'Alerts to it stop. This can’t be undone.',
        action: 'Delete channel',
      }))
    )
      return;
    await action.run(async () => {
      const from = currentVisit();
      await api.delete('/channels/{id}', { path: { id: channel.id } });
      toast(`${channel.name} deleted`);
      leaveDeleted(`/channels/${channel.id}`, PATHS.channels, from);
    });
  };
  return (
    <Button tone="danger" icon="trash" busy={action.isBusy.value} onClick={() => void remove()}>
      Delete channel
    </Button>
  );
}

/** A signing secret, shown only once, and how to use it. */
export function SigningSecret({ secret }: { secret: string }) {
  return (
    <div class="flex flex-col gap-5">
      <div>
        <p class="mb-2 flex gap-2 rounded-md bg-degraded-tint px-3 py-2 text-sm text-degraded">
          <Icon name="key" class="mt-0.5 size-4" />
          <span>Save the signing secret now: it’s shown only once. Rotate to get a new one.</span>
        </p>
        <CopyText text={secret} label="Signing secret" />
      </div>
      <div>
        <h3 class="heading text-sm">Verify deliveries</h3>
        <p class="mb-2 text-sm text-soft">
          Verify the signature over the raw body, and respond with 2xx within 8 seconds.
        </p>
        <SampleCode />
      </div>
    </div>
  );
}

const SAMPLES = {
  node: { label: 'Node', code: node },
  python: { label: 'Python', code: python },
  go: { label: 'Go', code: go },
  php: { label: 'PHP', code: php },
} as const;
type Language = keyof typeof SAMPLES;
const CHOICES = (Object.keys(SAMPLES) as Language[]).map((value) => ({ value, label: SAMPLES[value].label }));

/** Sample code that verifies the signature of a delivery, in several languages. */
function SampleCode() {
  const language = useSignal<Language>('node');
  const { label, code } = SAMPLES[language.value];
  const copying = useCopy<HTMLPreElement>(code);
  return (
    <div>
      <div class="flex flex-wrap items-center justify-between gap-2">
        <Choices
          label="Language"
          choices={CHOICES}
          value={language.value}
          onValue={(value) => (language.value = value)}
        />
        <CopyButton copying={copying} size="small" />
      </div>
      <pre
        ref={copying.box}
        tabIndex={0}
        aria-label={`${label} code that verifies a delivery`}
        class="mt-2 max-h-96 overflow-auto rounded-md border border-line bg-sunken p-3 font-mono text-xs leading-5"
      >
        {code}
      </pre>
    </div>
  );
}
