import { urlOf } from '../../config/formats.ts';
import { LONGEST_SECONDS, SHORTEST_SECONDS } from '../../core/maintenance/window.ts';
import { print, Refusal, UsageError } from '../output.ts';
import { callService } from '../service-call.ts';

type StartOptions = {
  tag?: readonly string[];
  monitor?: readonly string[];
  all?: boolean;
  for: number;
  name: string;
  key?: string;
  json?: boolean;
};

/** `spotcheck maintenance start`: starts maintenance now; a second call with the same key starts none. */
export async function startMaintenance(
  { tag, monitor, all, for: seconds, name, key, json }: StartOptions,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  if (tag === undefined && monitor === undefined && all !== true)
    throw new UsageError('Say which monitors: --tag, --monitor or --all');
  if (seconds < SHORTEST_SECONDS || seconds > LONGEST_SECONDS) throw new UsageError('--for must be from 1m to 30d');
  const window = await call(env, {
    method: 'POST',
    path: '/maintenance-windows',
    body: {
      name,
      duration_seconds: seconds,
      all_monitors: all === true,
      ...(tag && { tags: tag }),
      ...(monitor && { monitor_ids: monitor }),
      ...(key !== undefined && { key }),
    },
  });
  print(summaryOf(window), { json: json === true });
  // A mistyped tag must not pass unnoticed, but a new environment may get its monitors later. A failed lookup must not
  // stop a deployment.
  const used = await Promise.all((tag ?? []).map((one) => isTagInUse(env, one).catch(() => true)));
  for (const one of (tag ?? []).filter((_, index) => used[index] === false))
    process.stderr.write(`No monitor has the tag ${one}: maintenance covers those that get it before the end\n`);
}

async function isTagInUse(env: NodeJS.ProcessEnv, tag: string): Promise<boolean> {
  const { monitors } = await call(env, { method: 'GET', path: `/monitors?limit=1&tag=${encodeURIComponent(tag)}` });
  return Array.isArray(monitors) && monitors.length > 0;
}

type EndOptions = { id?: string; key?: string; json?: boolean };

/**
 * `spotcheck maintenance end`: ends maintenance in progress, of a window named by its id or key; an ended one stays
 * ended.
 */
export async function endMaintenance({ id, key, json }: EndOptions, env: NodeJS.ProcessEnv): Promise<void> {
  if ((id === undefined) === (key === undefined)) throw new UsageError('Say which window: --id or --key');
  const known =
    id === undefined
      ? await findByKey(env, key ?? '')
      : await call(env, { method: 'GET', path: `/maintenance-windows/${encodeURIComponent(id)}` });
  // A script that took longer than its maintenance, or ends it twice, has not failed.
  const window =
    known['status'] === 'ended'
      ? known
      : await call(env, { method: 'POST', path: `/maintenance-windows/${String(known['id'])}/end` });
  print(summaryOf(window), { json: json === true });
}

async function findByKey(env: NodeJS.ProcessEnv, key: string): Promise<Record<string, unknown>> {
  const found = await call(env, { method: 'GET', path: `/maintenance-windows?key=${encodeURIComponent(key)}` });
  const [window] = Array.isArray(found['maintenance_windows']) ? found['maintenance_windows'] : [];
  if (typeof window?.id !== 'string') throw new Refusal(`There is no maintenance window with the key ${key}`);
  return window;
}

function summaryOf({ id, name, key, status, current }: Record<string, unknown>): Record<string, unknown> {
  const endsAt = typeof current === 'object' && current !== null && 'ends_at' in current ? current.ends_at : null;
  return { id, name, key, status, ends_at: endsAt };
}

/** Calls the API of a service at any address: deploy scripts run without access to its database. */
async function call(
  env: NodeJS.ProcessEnv,
  { method, path, body }: { method: string; path: string; body?: object },
): Promise<Record<string, unknown>> {
  const { SPOTCHECK_URL: url = 'http://localhost:3000', SPOTCHECK_TOKEN: token = '' } = env;
  const base = urlOf('http:', 'https:')(url);
  if (base === null) throw new Refusal('SPOTCHECK_URL must be an http:// or https:// URL without query');
  if (token === '') throw new Refusal('SPOTCHECK_TOKEN is missing: an API token with the scope write');
  return await callService({ method, url: `${base}/v1${path}`, token, ...(body && { body }) });
}
