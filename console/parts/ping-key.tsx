import { api } from '../client/api.ts';
import { INSTALLATION_URL } from '../client/base-path.ts';
import type { Schemas } from '../client/shapes.ts';
import { CopyText, PingLoopbackHint } from './copy.tsx';
import { Code } from './facts.tsx';
import { useLoad, type Load } from './load.tsx';

/** The key of the account by which jobs ping heartbeats by their slugs, and create them. */
export function usePingKey(): Load<Schemas['PingKeyRead']> {
  return useLoad((signal) => api.get('/ping-key', { signal }), []);
}

/** The address that pings the heartbeat of a slug. */
export function pingAddress(key: string, slug: string): string {
  return `${INSTALLATION_URL}/ping/${key}/${slug}`;
}

/** The command of a job whose first ping creates its heartbeat, and what can be changed of it. */
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

/** The link to where the key is created and replaced. */
export function PingKeyLink() {
  return (
    <a href="/settings/ping-key" class="underline underline-offset-2 hover:text-ink">
      ping key
    </a>
  );
}
