import { useEffect } from 'preact/hooks';
import { parseEmailAddress } from '../../../core/alerts/email.ts';
import { Failure } from '../../client/answer.ts';
import { api, type Schemas } from '../../client/api.ts';
import { usePoll, useReload } from '../../client/live.ts';
import { canWrite } from '../../client/session-state.ts';
import { toast, useAction } from '../../parts/action.tsx';
import { Button, ButtonLink, Spinner } from '../../parts/button.tsx';
import { Tabs } from '../../parts/choice-fields.tsx';
import { confirm } from '../../parts/dialog.tsx';
import { TextField } from '../../parts/field.tsx';
import { Icon } from '../../parts/icon.tsx';
import { useLoad } from '../../parts/load.tsx';
import { ObjectPage } from '../../parts/object-page.tsx';
import { Card, Empty, Page } from '../../parts/page.tsx';
import { Moment } from '../../parts/time.tsx';
import { PATHS, type PageProps } from '../../paths.ts';
import { useShortcut } from '../../shell/keys.tsx';
import { navigate } from '../../shell/router.ts';
import { ChannelDrills } from '../monitor/drills.tsx';
import { ChannelSettings } from './channel-settings.tsx';
import { DeliveryLog } from './delivery-log.tsx';
import { Messages } from './messages.tsx';
import { ChannelState, TYPES, destinationOf, testAlert, type Channel, type ChannelType } from './words.tsx';

const BACK = { label: 'Channels', href: PATHS.channels };

/** The page of one channel: its deliveries, its messages, its drills and its settings. */
export function ChannelPage({ params, query }: PageProps) {
  const id = params['id'] ?? '';
  const load = useLoad((signal) => api.get('/channels/{id}', { path: { id }, signal }), [id]);
  useReload(load, ['channel'], (changed) => changed === id);
  return (
    <ObjectPage
      load={load}
      title="Channel"
      icon="channels"
      back={BACK}
      missing="It was deleted or belongs to another account."
    >
      {(channel) => <Shown channel={channel} query={query} reload={load.reload} />}
    </ObjectPage>
  );
}

type ShownProps = { channel: Channel; query: PageProps['query']; reload: () => Promise<void> };

const TABS = [
  { tab: '', label: 'Deliveries' },
  { tab: 'messages', label: 'Messages' },
  { tab: 'drills', label: 'Drills' },
  { tab: 'settings', label: 'Settings' },
] as const;

function Shown({ channel, query, reload }: ShownProps) {
  const base = `/channels/${channel.id}`;
  const hrefOf = (tab: string) => (tab === '' ? base : `${base}?tab=${tab}`);
  const current = TABS.find(({ tab }) => tab === query['tab'])?.tab ?? '';
  return (
    <Page
      title={channel.name}
      back={BACK}
      lead={<Lead channel={channel} />}
      actions={canWrite() && <Actions channel={channel} reload={reload} />}
    >
      <Trouble channel={channel} />
      <Tabs
        label="Channel"
        tabs={TABS.map(({ tab, label }) => ({ href: hrefOf(tab), label }))}
        current={hrefOf(current)}
      />
      {current === '' && <DeliveryLog channel={channel} query={query} />}
      {current === 'messages' && <Messages channel={channel} />}
      {current === 'drills' && <ChannelDrills channel={channel} />}
      {current === 'settings' && <ChannelSettings channel={channel} onChanged={reload} />}
    </Page>
  );
}

function Lead({ channel }: { channel: Channel }) {
  const destination = destinationOf(channel);
  return (
    <span class="flex flex-wrap items-center gap-2">
      <ChannelState channel={channel} />
      <span class="min-w-0 break-words">
        {TYPES[channel.type].label}
        {destination !== null && ` · ${destination}`}
      </span>
    </span>
  );
}

function Actions({ channel, reload }: { channel: Channel; reload: () => Promise<void> }) {
  const testing = useAction();
  const switching = useAction();
  const path = { id: channel.id };
  const test = () =>
    testing.run(async () => {
      try {
        const { status_code: status, duration_ms: duration } = await api.post('/channels/{id}/test', { path });
        testAlert.set();
        toast(`Test alert delivered${status === null ? '' : ` (HTTP ${status})`} in ${duration} ms`);
      } finally {
        await reload();
      }
    });
  const setEnabled = (enabled: boolean) =>
    switching.run(async () => {
      await api.patch('/channels/{id}', { path, body: { enabled } });
      await reload();
      toast(enabled ? 'Channel enabled' : 'Channel disabled: no alerts are sent to it');
    });
  const isConnected = channel.status === 'connected';
  // An accidental key press must not notify anyone.
  const testByKey = async () => {
    const title = `Send a test to ${channel.name}?`;
    if (await confirm({ title, text: 'It is marked as a test.', action: 'Send a test', tone: 'primary' })) await test();
  };
  useShortcut('t', 'Send a test', isConnected ? () => void testByKey() : null);
  return (
    <>
      {isConnected && (
        <Button busy={testing.isBusy.value} onClick={() => void test()}>
          Send a test
        </Button>
      )}
      <Button
        busy={switching.isBusy.value}
        icon={channel.enabled ? 'pause' : 'play'}
        onClick={() => void setEnabled(!channel.enabled)}
      >
        {channel.enabled ? 'Disable' : 'Enable'}
      </Button>
    </>
  );
}

/** The reason why alerts do not arrive, and the remedy. */
function Trouble({ channel }: { channel: Channel }) {
  const { last_error: text, last_error_at: at, status, type } = channel;
  if (text === undefined && status === 'connected') return null;
  return (
    <div
      class={
        'mb-5 flex gap-2.5 rounded-xl border px-4 py-3 text-sm ' +
        `${text === undefined ? 'border-degraded/30 bg-degraded-tint' : 'border-down/30 bg-down-tint'}`
      }
    >
      <Icon name="warning" class={`mt-0.5 size-4 ${text === undefined ? 'text-degraded' : 'text-down'}`} />
      <div class="min-w-0">
        {text !== undefined && (
          <p class="break-words font-medium">
            {text}
            {at !== undefined && (
              <span class="font-normal text-soft">
                {' · '}
                <Moment at={at} />
              </span>
            )}
          </p>
        )}
        {status === 'pending' && <p class="text-soft">{remedyOf(type, text !== undefined)}</p>}
        {status === 'pending' && type === 'email' && canWrite() && (
          <div class="mt-2">
            <ResendConfirmation id={channel.id} />
          </div>
        )}
        {status === 'connected' && <p class="text-soft">Fix the problem, then redeliver failed alerts.</p>}
      </div>
    </div>
  );
}

function remedyOf(type: Channel['type'], wasConnected: boolean): string {
  if (wasConnected && type === 'telegram') return 'Send /start to the bot in that chat to reconnect it.';
  if (type === 'email')
    return wasConnected
      ? 'Send a confirmation again. Alerts are sent once it is accepted and the channel is enabled.'
      : 'No alerts are sent until the address is confirmed. The link that was sent there is valid 24 hours.';
  if (wasConnected) return 'Create a new channel and delete this one.';
  return (
    'No alerts are sent until it is connected. The link was shown once and is valid 1 hour. ' +
    'If you lost it, delete this channel and create another.'
  );
}

type Links = Pick<Schemas['ChannelCreateResult'], 'deep_link' | 'group_deep_link' | 'authorize_url'>;

/** The stream reports the connection at once; polling is for when there is no stream. */
const POLL_MS = 5000;

/** The links that connect a chat. Once it is connected, the channel's page is shown. */
export function ConnectChat({ id, type, links }: { id: string; type: Exclude<ChannelType, 'webhook'>; links: Links }) {
  const load = useLoad((signal) => api.get('/channels/{id}', { path: { id }, signal }), [id]);
  useReload(load, ['channel'], (changed) => changed === id);
  const { value: error } = load.error;
  const isDeleted = error instanceof Failure && error.status === 404;
  usePoll(load, !isDeleted, POLL_MS);
  const isConnected = load.value.value?.status === 'connected';
  useEffect(() => {
    if (!isConnected) return;
    toast('Channel connected');
    navigate(`/channels/${id}`, { replace: true });
  }, [isConnected, id]);
  if (isDeleted) {
    return (
      <div role="alert">
        <Empty
          icon="channels"
          title="Channel deleted"
          action={<ButtonLink href={PATHS.channels}>All channels</ButtonLink>}
        >
          Its link no longer works.
        </Empty>
      </div>
    );
  }
  return (
    <div class="max-w-2xl">
      <Card>
        <Steps id={id} type={type} links={links} address={load.value.value?.address} />
        <p class="mt-5 flex items-center gap-2.5 text-sm text-soft" role="status">
          <Spinner />
          {type === 'email' ? 'Waiting for confirmation…' : 'Waiting for the connection…'}
        </p>
      </Card>
      <p class="mt-3 text-[0.8125rem] text-soft">
        {type === 'email'
          ? 'The link works once, for 24 hours. You can leave this page.'
          : 'Single-use link, valid 1 hour. If you lose it, delete the channel and create another.'}
      </p>
    </div>
  );
}

type StepsProps = { id: string; type: Exclude<ChannelType, 'webhook'>; links: Links; address: string | undefined };

function Steps({ id, type, links, address }: StepsProps) {
  switch (type) {
    case 'telegram':
      return <TelegramSteps links={links} />;
    case 'slack':
      return <SlackSteps links={links} />;
    case 'email':
      return <EmailSteps id={id} address={address} />;
    default:
      return type satisfies never;
  }
}

function TelegramSteps({ links }: { links: Links }) {
  return (
    <>
      <p class="text-sm">Open the link in Telegram and press Start. For a group, choose the group.</p>
      <div class="mt-4 flex flex-wrap gap-2">
        {links.deep_link !== undefined && (
          <ButtonLink href={links.deep_link} target="_blank" rel="noreferrer" tone="primary" icon="external">
            Open in Telegram
          </ButtonLink>
        )}
        {links.group_deep_link !== undefined && (
          <ButtonLink href={links.group_deep_link} target="_blank" rel="noreferrer" icon="external">
            Connect a group
          </ButtonLink>
        )}
      </div>
    </>
  );
}

function SlackSteps({ links }: { links: Links }) {
  return (
    <>
      <p class="text-sm">Slack asks you to choose a channel and approve access.</p>
      <div class="mt-4">
        {links.authorize_url !== undefined && (
          <ButtonLink href={links.authorize_url} target="_blank" rel="noreferrer" tone="primary" icon="external">
            Continue to Slack
          </ButtonLink>
        )}
      </div>
    </>
  );
}

type AddressProps = { address: string; onAddress: (address: string) => void; error?: string | null | undefined };

/** The address of a new email channel. */
export function AddressField({ address, onAddress, error }: AddressProps) {
  return (
    <TextField
      label="Email address"
      type="email"
      required
      autocomplete="off"
      placeholder="oncall@example.com"
      maxLength={254}
      value={address}
      onValue={onAddress}
      error={error}
      hint="A link to confirm it is sent there. No alerts are sent until it is confirmed."
    />
  );
}

/** Returns the error of an address; null if there is none. */
export function judgeAddress(address: string): string | null {
  if (address.trim() === '') return 'Enter an email address';
  return parseEmailAddress(address).ok ? null : 'Enter one address, like oncall@example.com';
}

/** Instructions after a confirmation was sent. */
function EmailSteps({ id, address }: { id: string; address: string | undefined }) {
  return (
    <>
      <p class="text-sm">
        A message with a link was sent to {address === undefined ? 'the address' : <b>{address}</b>}. Open the link and
        confirm there.
      </p>
      <div class="mt-4">
        <ResendConfirmation id={id} />
      </div>
    </>
  );
}

/** Sends the confirmation of a channel again. */
function ResendConfirmation({ id }: { id: string }) {
  const action = useAction();
  const resend = () =>
    action.run(async () => {
      await api.post('/channels/{id}/confirmation', { path: { id } });
      toast('Confirmation sent. Links sent before no longer work');
    });
  return (
    <Button size="small" busy={action.isBusy.value} onClick={() => void resend()}>
      Send confirmation again
    </Button>
  );
}
