import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import { findFreePort } from '../../../cli/embedded-postgres/start.ts';
import { buildTestMessage, type MonitorMessage } from '../../../core/alerts/envelope.ts';
import { attemptWebhook } from '../../../notifications/webhook/attempt.ts';
import { openWebhookSending } from '../../../notifications/webhook/sending.ts';
import { generateSigningSecret } from '../../../notifications/webhook/signature.ts';
import { TestAuthority } from '../../helpers/certificates.ts';
import { until } from '../../helpers/until.ts';

const PROGRAM = 'prometheus-alertmanager';
const isInstalled = spawnSync(PROGRAM, ['--version']).status === 0;

type Alert = { labels: Record<string, string>; annotations: { summary: string }; endsAt: string; generatorURL: string };

// Debian's `prometheus-alertmanager`; `.ci/run` installs it.
if (isInstalled) {
  test('Alertmanager shows an alert as firing, and as resolved once the monitor is up', async (t) => {
    const { url, listAlerts } = await startAlertmanager(t);
    const sending = openWebhookSending({ allowPrivateNetwork: true, deadlineMs: 60_000 });
    t.teardown(sending.close);
    const send = async (message: MonitorMessage) => {
      const signingSecret = generateSigningSecret(randomBytes);
      const webhook = { url: `${url}/api/v2/alerts`, signingSecret, format: { preset: 'alertmanager' } as const };
      const result = await attemptWebhook(
        { ...webhook, account: 'ten_1', deliveryId: 'dlv_1', attempt: 1, message },
        sending,
      );
      t.like(result, { outcome: 'delivered', statusCode: 200, error: null });
    };
    const [down, up] = outage();
    await send(down);
    const [firing, ...others] = await until(async () => (await listAlerts()).length > 0 && (await listAlerts()));
    t.deepEqual(others, []);
    t.like(firing, {
      labels: { monitor_id: 'mon_1', dedup_key: 'spotcheck/spotcheck.example/inc_1' },
      annotations: { summary: 'Down: Shop', target: 'https://shop.example/' },
      generatorURL: 'https://spotcheck.example/monitors',
    });
    t.true(Date.parse(firing?.endsAt ?? '') > Date.now() + 86_400_000);
    await send(up);
    t.true(await until(async () => (await listAlerts()).length === 0));
  });
} else {
  test('Alertmanager is not installed here, so it is not tested', (t) => t.pass());
}

/** Starts an Alertmanager with TLS, which webhooks require; it stops with the test. */
async function startAlertmanager(t: ExecutionContext): Promise<{ url: string; listAlerts: () => Promise<Alert[]> }> {
  const authority = await TestAuthority.create();
  authority.trust();
  const { key, cert } = await authority.issue({ hosts: ['127.0.0.1'] });
  const folder = mkdtempSync(join(tmpdir(), 'spotcheck-alertmanager-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const files = {
    'key.pem': key,
    'cert.pem': cert,
    'web.yml': 'tls_server_config: { cert_file: cert.pem, key_file: key.pem }\n',
    'alertmanager.yml': 'route: { receiver: none }\nreceivers: [{ name: none }]\n',
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const port = await findFreePort();
  const program = spawn(
    PROGRAM,
    [
      `--config.file=${join(folder, 'alertmanager.yml')}`,
      `--web.config.file=${join(folder, 'web.yml')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      `--storage.path=${folder}`,
      '--cluster.listen-address=',
    ],
    { stdio: 'ignore' },
  );
  t.teardown(() => void program.kill('SIGKILL'));
  const url = `https://127.0.0.1:${port}`;
  const listAlerts = () => getJson<Alert[]>(`${url}/api/v2/alerts?active=true`, cert);
  await until(() => listAlerts().then(Array.isArray, () => false));
  return { url, listAlerts };
}

function getJson<Json>(url: string, ca: string): Promise<Json> {
  const agent = new Agent({ ca, rejectUnauthorized: false });
  return new Promise((resolve, reject) => {
    get(url, { agent }, (response) => json(response).then((body) => resolve(body as Json), reject)).once(
      'error',
      reject,
    );
  });
}

function outage(): [MonitorMessage, MonitorMessage] {
  const now = Math.floor(Date.now() / 1000);
  const message = buildTestMessage({ nowMs: Date.now(), publicUrl: 'https://spotcheck.example' });
  const monitor = { id: 'mon_1', name: 'Shop', type: 'http', target: 'https://shop.example/' } as const;
  const down: MonitorMessage = {
    ...message,
    event: 'monitor.down',
    event_at: now - 60,
    state: 'down',
    monitor,
    reason: 'The response has the status 503',
    detail: { ...message.detail, incident_id: 'inc_1', previous_state: 'up', sources_down: ['hanoi'] },
  };
  const detail = { ...down.detail, previous_state: 'down' as const, duration_seconds: 59 };
  return [down, { ...down, event: 'monitor.up', event_at: now - 1, state: 'up', detail }];
}
