import { setTimeout as delay } from 'node:timers/promises';
import { apiClient, listOf, type Answer, type ApiClient } from '../../test/helpers/api-client.ts';
import { isAcknowledged } from './channels.ts';

/** Responses of the API to a client during a run. */
export type ApiAnswers = {
  /** Responses that no client should get, one per line: 5xx other than 503, which means that a server is away. */
  faulty: readonly string[];
  /** Names of the monitors whose creation was confirmed. */
  created: readonly string[];
};

export type ApiWatch = { answers: ApiAnswers; stop: () => Promise<void> };

/** Pause between two requests, in milliseconds: a tenth of the token's limit. */
const PAUSE_MS = 1000;

type Watched = { fleet: { urls: () => string[] }; token: string; monitorIds: readonly string[] };

/**
 * Reads and writes during a run, through all web processes in turn. The writes are drafts, which are not checked, and
 * acknowledgements of some of the incidents. A missing response is no fault while processes are killed.
 */
export function watchApi({ fleet: { urls }, token, monitorIds }: Watched): ApiWatch {
  const faulty: string[] = [];
  const created: string[] = [];
  const stopping = new AbortController();
  let round = 0;
  const ask = async (...[method, path, body]: Parameters<ApiClient>): Promise<Answer | null> => {
    const choice = urls();
    const url = choice[round % Math.max(1, choice.length)];
    if (url === undefined) return null;
    const answer = await apiClient(url, token)(method, path, body).catch(() => null);
    const status = answer?.status ?? 0;
    if (status >= 500 && status !== 503) faulty.push(`${method} ${path}: ${status} ${JSON.stringify(answer?.json)}`);
    return answer;
  };
  const acknowledge = async (): Promise<void> => {
    const open = await ask('GET', '/incidents?status=open&acknowledged=false');
    if (open?.status !== 200) return;
    for (const incident of listOf(open))
      if (isAcknowledged(monitorIds.indexOf(String(incident['monitor_id']))))
        await ask('POST', `/incidents/${String(incident['id'])}/acknowledge`);
  };
  const watch = async (): Promise<void> => {
    for (; !stopping.signal.aborted; round += 1) {
      const name = `Draft ${round}`;
      if ((await ask('POST', '/monitors', { name }))?.status === 201) created.push(name);
      await ask('GET', '/overview');
      await acknowledge();
      await delay(PAUSE_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  };
  const watching = watch();
  return {
    answers: { faulty, created },
    async stop() {
      stopping.abort();
      await watching;
    },
  };
}

/** Lists the names of all monitors through the API. */
export async function listNames(call: ApiClient): Promise<string[]> {
  return listOf(await call('GET', '/monitors')).map(({ name }) => String(name));
}
