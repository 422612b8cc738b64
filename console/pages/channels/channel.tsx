import { api } from '../../client/api.ts';
import { Failure } from '../../client/failure.ts';
import { useReload } from '../../client/reload.ts';
import { canWrite } from '../../client/session-state.ts';
import { useAction } from '../../parts/action.ts';
import { Button } from '../../parts/button.tsx';
import { Tabs } from '../../parts/choices.tsx';
import { EmptyPage } from '../../parts/empty.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Loaded, useLoad } from '../../parts/load.tsx';
import { Page } from '../../parts/page.tsx';
import { Moment } from '../../parts/time.tsx';
import { toast } from '../../parts/toast.tsx';
import { type PageProps, PATHS } from '../../paths.ts';
import { useShortcut } from '../../shell/keys.tsx';
import { ChannelSettings } from './channel-settings.tsx';
import { DeliveryLog } from './delivery-log.tsx';
import { ChannelState, destinationOf, TYPES, type Channel } from './words.tsx';

const BACK = { label: 'Channels', href: PATHS.channels };

/** One channel: what was sent there and what became of it, and its settings. */
export function ChannelPage({ params, query }: PageProps) {
  const id = params['id'] ?? '';
  const load = useLoad((signal) => api.get('/channels/{id}', { path: { id }, signal }), [id]);
  useReload(load, ['channel'], (changed) => changed === id);
  const { value: error } = load.error;
  const { value: channel } = load.value;
  if (error instanceof Failure && error.status === 404) return <Missing />;
  if (channel === null || channel.id !== id) {
    return (
      <Page title="Channel" back={BACK}>
        <Loaded load={load} height="h-96">
          {() => null}
        </Loaded>
      </Page>
    );
  }
  const tab = query['tab'] === 'settings' ? 'settings' : '';
  const base = `/channels/${id}`;
  const tabs = [
    { href: base, label: 'Deliveries' },
    { href: `${base}?tab=settings`, label: 'Settings' },
  ];
  return (
    <Page
      title={channel.name}
      back={BACK}
      lead={<Lead channel={channel} />}
      actions={canWrite() && <Actions channel={channel} reload={load.reload} />}
    >
      <Trouble channel={channel} />
      <Tabs label="Channel" tabs={tabs} current={tab === '' ? base : `${base}?tab=settings`} />
      {tab === '' ? (
        <DeliveryLog channel={channel} query={query} />
      ) : (
        <ChannelSettings channel={channel} onChanged={load.reload} />
      )}
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
      const { status_code: status, duration_ms: duration } = await api.post('/channels/{id}/test', { path });
      toast(`The test arrived${status === null ? '' : `: answered with ${status}`} in ${duration} ms`);
    });
  const setEnabled = (enabled: boolean) =>
    switching.run(async () => {
      await api.patch('/channels/{id}', { path, body: { enabled } });
      await reload();
      toast(enabled ? 'Switched on: alerts go there again' : 'Switched off: no alert goes there');
    });
  const isConnected = channel.status === 'connected';
  useShortcut('t', 'Send a test', () => isConnected && void test());
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
        {channel.enabled ? 'Switch off' : 'Switch on'}
      </Button>
    </>
  );
}

/** What keeps alerts from arriving, and what helps. */
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
        {status === 'connected' && <p class="text-soft">Once the cause is mended, send again what failed.</p>}
      </div>
    </div>
  );
}

function remedyOf(type: Channel['type'], wasConnected: boolean): string {
  if (wasConnected && type === 'telegram')
    return 'Write /start to the bot in that chat: it is connected again at once.';
  if (wasConnected) return 'Make another channel in its place, and delete this one.';
  return (
    'No alert goes there before it is connected. Its link was shown when it was made and works for an hour; ' +
    'without it delete this channel and make another.'
  );
}

function Missing() {
  return (
    <EmptyPage title="Channel" back={BACK} icon="channels" heading="There is no such channel">
      It was deleted, belongs to another account, or its address is not complete.
    </EmptyPage>
  );
}
