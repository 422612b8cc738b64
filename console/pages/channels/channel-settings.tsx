import { useSignal } from '@preact/signals';
import { api } from '../../client/api.ts';
import { problemsByField } from '../../client/failure.ts';
import { canWrite } from '../../client/session-state.ts';
import { useAction, useFormAction } from '../../parts/action.ts';
import { Button } from '../../parts/button.tsx';
import { CheckField } from '../../parts/choice-fields.tsx';
import { confirm } from '../../parts/dialog.tsx';
import { useDraft } from '../../parts/draft.ts';
import { TextField, FormError, Form } from '../../parts/field.tsx';
import { Card, Section } from '../../parts/page.tsx';
import { ShownOnceDialog } from '../../parts/shown-once.tsx';
import { formatDateTime } from '../../parts/time.tsx';
import { toast } from '../../parts/toast.tsx';
import { PATHS } from '../../paths.ts';
import { navigate } from '../../shell/router.ts';
import { ChangesLink } from '../settings/changes-link.tsx';
import { Routing, type Route } from './monitor-choice.tsx';
import { SampleCode, SigningSecret } from './signing-secret.tsx';
import type { Channel } from './words.tsx';

type SettingsProps = { channel: Channel; onChanged: () => Promise<void> };

/** A channel's name, routing and secret, and its deletion; viewers see the settings only. */
export function ChannelSettings({ channel, onChanged }: SettingsProps) {
  return (
    <div class="max-w-2xl">
      <Section title="Alerts" actions={<ChangesLink kind="channel" id={channel.id} />}>
        {canWrite() ? <ChannelForm channel={channel} onChanged={onChanged} /> : <Facts channel={channel} />}
      </Section>
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
        <Section title="Delete" lead="No further alert goes there, and its record is gone.">
          <DeleteChannel channel={channel} />
        </Section>
      )}
    </div>
  );
}

function ChannelForm({ channel, onChanged }: SettingsProps) {
  const name = useDraft(`channel ${channel.id} name`, channel.name);
  const route = useDraft<Route>(`channel ${channel.id} route`, routeOf(channel));
  const reports = useDraft(`channel ${channel.id} reports`, channel.reports ?? false);
  const formAction = useFormAction();
  const save = () =>
    formAction.run(async () => {
      await api.patch('/channels/{id}', {
        path: { id: channel.id },
        body: {
          name: name.value,
          all_monitors: route.value.all,
          ...(!route.value.all && { monitor_ids: [...route.value.ids] }),
          ...(channel.reports !== undefined && { reports: reports.value }),
        },
      });
      await onChanged();
      toast('Saved');
    });
  const { byField, rest } = problemsByField(formAction.error.value, ['name', 'all_monitors', 'monitor_ids', 'reports']);
  return (
    <Card>
      <Form class="flex flex-col gap-5" onSubmit={save}>
        <TextField
          label="Name"
          required
          maxLength={255}
          value={name.value}
          onValue={(value) => (name.value = value)}
          error={byField['name']}
        />
        <Routing
          route={route.value}
          onRoute={(value) => (route.value = value)}
          error={byField['monitor_ids'] ?? byField['all_monitors']}
        />
        {channel.reports !== undefined && (
          <CheckField
            label="Reports, too"
            hint="Says so in the chat when a weekly or monthly report is made."
            checked={reports.value}
            onChecked={(value) => (reports.value = value)}
            error={byField['reports'] ?? null}
          />
        )}
        <FormError text={rest} />
        <div>
          <Button type="submit" tone="primary" busy={formAction.isBusy.value}>
            Save
          </Button>
        </div>
      </Form>
    </Card>
  );
}

function routeOf({ all_monitors: all, monitor_ids: ids }: Channel): Route {
  return { all, ids };
}

function Facts({ channel }: { channel: Channel }) {
  const { length: count } = channel.monitor_ids;
  const chosen = count === 1 ? 'one chosen monitor' : `${count} chosen monitors`;
  return (
    <Card>
      <p class="text-sm">
        {channel.all_monitors ? 'Alerts of all monitors go there.' : `Alerts of ${chosen} go there.`}
        {channel.reports === true && ' It gets reports, too.'} Made {formatDateTime(channel.created_at)}.
      </p>
    </Card>
  );
}

function RotateSecret({ channel }: { channel: Channel }) {
  const secret = useSignal<string | null>(null);
  const action = useAction();
  const rotate = async () => {
    const text =
      'The new secret signs at once. The present one signs as well for 24 hours, so that your receiver has time ' +
      'to learn the new one.';
    if (!(await confirm({ title: 'Change the signing secret?', text, action: 'Change secret', tone: 'primary' })))
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
        Change secret
      </Button>
      {secret.value !== null && (
        <ShownOnceDialog
          title="The new signing secret"
          question="Have you kept the secret?"
          text="It is never shown again. Without it your receiver cannot tell who calls once the old one ends."
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
        text: 'No further alert goes there. It cannot be brought back: connecting it again makes another channel.',
        action: 'Delete channel',
      }))
    )
      return;
    await action.run(async () => {
      await api.delete('/channels/{id}', { path: { id: channel.id } });
      toast(`${channel.name} is deleted`);
      navigate(PATHS.channels, { replace: true });
    });
  };
  return (
    <Button tone="danger" icon="trash" busy={action.isBusy.value} onClick={() => void remove()}>
      Delete channel
    </Button>
  );
}
