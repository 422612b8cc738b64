import { useEffect } from 'preact/hooks';
import { api } from '../../client/api.ts';
import { usePoll, useReload } from '../../client/reload.ts';
import type { Schemas } from '../../client/shapes.ts';
import { ButtonLink, Spinner } from '../../parts/button.tsx';
import { useLoad } from '../../parts/load.tsx';
import { Card } from '../../parts/page.tsx';
import { toast } from '../../parts/toast.tsx';
import { navigate } from '../../shell/router.ts';
import type { ChannelType } from './words.tsx';

type Links = Pick<Schemas['ChannelCreateResult'], 'deep_link' | 'group_deep_link' | 'authorize_url'>;

/** The stream reports the connection at once; polling is for when there is no stream. */
const POLL_MS = 5000;

/** The links that connect a chat. Once it is connected, the channel's page is shown. */
export function ConnectChat({ id, type, links }: { id: string; type: Exclude<ChannelType, 'webhook'>; links: Links }) {
  const load = useLoad((signal) => api.get('/channels/{id}', { path: { id }, signal }), [id]);
  useReload(load, ['channel'], (changed) => changed === id);
  usePoll(load, true, POLL_MS);
  const isConnected = load.value.value?.status === 'connected';
  useEffect(() => {
    if (!isConnected) return;
    toast('Channel connected');
    navigate(`/channels/${id}`, { replace: true });
  }, [isConnected, id]);
  return (
    <div class="max-w-2xl">
      <Card>
        {type === 'telegram' ? <TelegramSteps links={links} /> : <SlackSteps links={links} />}
        <p class="mt-5 flex items-center gap-2.5 text-sm text-soft" role="status">
          <Spinner />
          Waiting for the connection…
        </p>
      </Card>
      <p class="mt-3 text-[0.8125rem] text-soft">
        Single-use link, valid 1 hour. If you lose it, delete the channel and create another.
      </p>
    </div>
  );
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
