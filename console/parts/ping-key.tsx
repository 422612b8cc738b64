import { api, type Schemas } from '../client/api.ts';
import { INSTALLATION_URL } from '../client/base-path.ts';
import { canWrite } from '../client/session-state.ts';
import { toast, useAction } from './action.tsx';
import { Button } from './button.tsx';
import { CopyText, PingLoopbackHint } from './copy.tsx';
import { confirm } from './dialog.tsx';
import { Loaded, useLoad, type Load } from './load.tsx';
import { Code } from './object-page.tsx';
import { Card, Empty, Section } from './page.tsx';
import { Moment } from './time.tsx';

/** Loads the account's key, by which jobs ping heartbeats by their slugs, and create them. */
export function usePingKey(): Load<Schemas['PingKeyRead']> {
  return useLoad((signal) => api.get('/ping-key', { signal }), []);
}

/** Returns the address that pings the heartbeat of a slug. */
export function pingAddress(key: string, slug: string): string {
  return `${INSTALLATION_URL}/ping/${key}/${slug}`;
}

/** The command of a job whose first ping creates its heartbeat, and its options. */
export function CreatingCommand({ pingKey }: { pingKey: string }) {
  const address = pingAddress(pingKey, 'backup-$(hostname -s)');
  return (
    <div class="grid grid-cols-1 gap-3">
      <p class="text-sm text-soft">
        The job’s first ping creates its heartbeat, named after the last part of the URL. It expects a ping a day until
        you change that.
      </p>
      <CopyText text={`curl -fsS -m 10 --retry 5 "${address}?create=1"`} label="Command that creates a heartbeat" />
      <PingLoopbackHint url={pingAddress(pingKey, 'backup')} />
      <p class="text-sm text-soft">
        It can have up to 64 lowercase letters, digits, <Code>-</Code> and <Code>_</Code>. Without{' '}
        <Code>?create=1</Code> the ping only counts for an existing heartbeat.
      </p>
    </div>
  );
}

/** A link to the page that creates and replaces the key. */
export function PingKeyLink() {
  return (
    <a href="/settings/ping-key" class="underline underline-offset-2 hover:text-ink">
      ping key
    </a>
  );
}

type Answer = Schemas['PingKeyRead'];

/** The account's key, by which jobs ping heartbeats by their slugs, and create them. */
export function PingKeySettings() {
  const load = usePingKey();
  return <Loaded load={load}>{(answer) => <Shown answer={answer} load={load} />}</Loaded>;
}

function Shown({ answer: { ping_key: found }, load }: { answer: Answer; load: Load<Answer> }) {
  if (found === null)
    return (
      <Empty icon="key" title="No ping key yet" action={canWrite() && <Replace load={load} />}>
        With a ping key, a job’s first ping creates its heartbeat monitor.
      </Empty>
    );
  return (
    <Section
      title="Ping key"
      lead={
        <>
          Created <Moment at={found.created_at} />. Keep it private: anyone who has it can ping and create heartbeats,
          and nothing else.
        </>
      }
      actions={
        canWrite() && (
          <div class="flex flex-wrap gap-2">
            <Replace load={load} isFirst={false} />
            <Remove load={load} />
          </div>
        )
      }
    >
      <Card>
        {found.key === undefined ? (
          <p class="text-sm text-soft">Only editors and owners can see the ping key.</p>
        ) : (
          <div class="grid grid-cols-1 gap-3">
            <CopyText text={found.key} label="Ping key" />
            <CreatingCommand pingKey={found.key} />
          </div>
        )}
      </Card>
    </Section>
  );
}

function Replace({ load, isFirst = true }: { load: Load<Answer>; isFirst?: boolean }) {
  const action = useAction();
  const replace = async () => {
    const text = 'Pings with the current key are rejected immediately. Heartbeats are kept.';
    if (!isFirst && !(await confirm({ title: 'Replace the ping key?', text, action: 'Replace key' }))) return;
    await action.run(async () => {
      await api.post('/ping-key');
      await load.reload();
      toast(isFirst ? 'Ping key created' : 'Ping key replaced');
    });
  };
  return (
    <Button
      {...(isFirst ? { tone: 'primary', icon: 'plus' } : { size: 'small', icon: 'key' })}
      busy={action.isBusy.value}
      onClick={() => void replace()}
    >
      {isFirst ? 'Create ping key' : 'Replace'}
    </Button>
  );
}

function Remove({ load }: { load: Load<Answer> }) {
  const action = useAction();
  const remove = async () => {
    const text =
      'Pings with this key are rejected immediately. Heartbeats are kept, and still accept pings at their own URLs.';
    if (!(await confirm({ title: 'Delete the ping key?', text, action: 'Delete key' }))) return;
    await action.run(async () => {
      await api.delete('/ping-key');
      toast('Ping key deleted');
      await load.reload();
    });
  };
  return (
    <Button size="small" tone="danger" icon="trash" busy={action.isBusy.value} onClick={() => void remove()}>
      Delete
    </Button>
  );
}
