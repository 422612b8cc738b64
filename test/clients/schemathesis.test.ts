import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { Client } from 'pg';
import { findKeptPort } from '../../tools/kept-port.ts';
import { isInstalled, runCommand } from '../helpers/command.ts';
import { createTestDatabase } from '../helpers/database.ts';
import { startService } from '../helpers/running-service.ts';

const CONFIG = join(import.meta.dirname, 'schemathesis.toml');

/** Interval at which all request counts are cleared: at 600 a minute a run of seconds would take an hour. */
const FORGET_EVERY_MS = 100;

if (isInstalled('schemathesis')) {
  test('schemathesis finds no failure in the running service, apart from checks excepted by name', async (t) => {
    const { databaseUrl, drop } = await createTestDatabase();
    t.teardown(drop);
    const SECRET_KEYS = `k1:${randomBytes(32).toString('base64')}`;
    // URLs outside /v1 are built from the configured port.
    const service = await startService(t, {
      PORT: String(await findKeptPort()),
      DATABASE_URL: databaseUrl,
      SECRET_KEYS,
      ALLOW_PRIVATE_NETWORK: 'true',
    });
    await forgetCounts(t, databaseUrl);
    const folder = await mkdtemp(join(tmpdir(), 'spotcheck-schemathesis-'));
    t.teardown(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }));

    const command = [
      'schemathesis',
      '--config-file',
      CONFIG,
      'run',
      '--seed',
      '17',
      '--max-examples',
      '10',
      '--continue-on-failure',
      '--warnings',
      'off',
      `${service.url}/openapi.json`,
    ];
    const { status, stdout, stderr } = await runCommand(command, { SPOTCHECK_TOKEN: service.token }, folder);
    t.is(status, 0, `${stdout.slice(-20_000)}${stderr}`);
  });
} else {
  test('schemathesis is not installed here, so its checks did not run', (t) => t.pass());
}

async function forgetCounts(t: ExecutionContext, databaseUrl: string): Promise<void> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  let last: Promise<unknown> = Promise.resolve();
  const timer = setInterval(() => (last = client.query('DELETE FROM rate_limits')), FORGET_EVERY_MS);
  t.teardown(async () => {
    clearInterval(timer);
    await last;
    await client.end();
  });
}
