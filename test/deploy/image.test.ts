import { randomBytes } from 'node:crypto';
import test from 'ava';
import { findKeptPort } from '../../tools/kept-port.ts';
import { Containers, findMissingTool } from '../helpers/containers.ts';
import { createTestDatabase } from '../helpers/database.ts';
import { createHarness } from '../helpers/harness.ts';
import { until } from '../helpers/until.ts';

const MEGABYTE = 1_000_000;
const missing = findMissingTool();

/** Arguments of a hardened container: it can write only to its volume, and has no capabilities. */
const CONFINED = ['--read-only', '--cap-drop=ALL', '--security-opt=no-new-privileges', '--network=none'];

/** Creates monitors of the container's API and, by ICMP echo, of its address, and waits until both are up. */
const CHECK_ITSELF = `
  const call = async (method, path, body) => {
    const headers = { Authorization: 'Bearer spk_image', 'Content-Type': 'application/json' };
    const response = await fetch('http://127.0.0.1:3000/v1' + path, { method, headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(path + ': ' + response.status + ' ' + await response.text());
    return await response.json();
  };
  await call('POST', '/monitors', { name: 'http', target: 'http://127.0.0.1:3000/healthz', interval_seconds: 1 });
  await call('POST', '/monitors', { name: 'icmp', type: 'icmp', target: '127.0.0.1', interval_seconds: 1 });
  for (let attempt = 0; attempt < 600; attempt += 1) {
    const { up, total } = await call('GET', '/overview');
    if (up === 2 && total === 2) { console.log('both up'); process.exit(0); }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(JSON.stringify(await call('GET', '/overview')));`;

if (missing === null) {
  const { harness, close } = createHarness();
  test.after.always(close);
  let containers: Containers;

  const startWhole = async (name: string, args: readonly string[]): Promise<() => Promise<string>> => {
    const { output } = await containers.start(name, [...args, '--env=BOOTSTRAP_TOKEN=spk_image', 'spotcheck']);
    await until(async () => /Spotcheck is ready/.test(await output()), { timeoutMs: 120_000 });
    return output;
  };

  test.serial('the base images are made from Debian packages alone', async (t) => {
    containers = await Containers.open(harness);
    await containers.makeBases();
    t.pass();
  });

  // Each stage is a separate test, because a run without output counts as stuck.
  for (const stage of ['packages', 'build'])
    test.serial(`the stage ${stage} of the image is built`, async (t) => {
      await containers.build(`spotcheck:${stage}`, stage);
      t.pass();
    });

  test.serial('the image without PostgreSQL is built, has no shell, and is below 90 MB', async (t) => {
    await containers.build('spotcheck:fleet', 'fleet');
    const size = await containers.compressedSize('spotcheck:fleet');
    t.log(`${(size / MEGABYTE).toFixed(1)} MB compressed`);
    t.true(size < 90 * MEGABYTE, `${size} bytes`);
    for (const program of ['/bin/sh', '/usr/bin/env'])
      await t.throwsAsync(containers.run(`--entrypoint=${program}`, '--network=none', 'spotcheck:fleet'), {
        message: /no such file or directory/i,
      });
    t.regex(await containers.run(...CONFINED, 'spotcheck:fleet', '--version'), /^\d+\.\d+\.\d+\n$/);
  });

  test.serial('the image of all roles is built, and is below 200 MB', async (t) => {
    await containers.build('spotcheck', null);
    const size = await containers.compressedSize('spotcheck');
    t.log(`${(size / MEGABYTE).toFixed(1)} MB compressed`);
    t.true(size < 200 * MEGABYTE, `${size} bytes`);
  });

  test.serial('the image runs all in one, confined, and keeps its data after a kill', async (t) => {
    // A named volume takes its owner and mode from the image.
    const volume = '--volume=data:/data';
    const first = await startWhole('first', [...CONFINED, volume]);
    t.regex(await first(), /creating the database/);
    t.regex(await containers.podman('exec', 'first', 'spotcheck', 'health', '--ready'), /^Healthy: /);
    await containers.podman('healthcheck', 'run', 'first');
    const checked = ['exec', 'first', 'node', '--input-type=module', '--eval', CHECK_ITSELF] as const;
    t.is(await containers.podman(...checked), 'both up\n');
    await containers.podman('kill', '--signal=KILL', 'first');
    t.is(await containers.stop('first'), 137);
    const second = await startWhole('second', [...CONFINED, volume]);
    t.notRegex(await second(), /creating the database|This is the first start/);
    t.is(await containers.stop('second'), 0);
  });

  test.serial('the image runs under any user: an unknown uid, and root', async (t) => {
    for (const user of ['23456:34567', '0:0']) {
      const name = `user-${user.split(':')[0]}`;
      const confined = user === '0:0' ? ['--read-only', '--network=none'] : CONFINED;
      await startWhole(name, [`--user=${user}`, ...confined, `--volume=${name}:/data`]);
      t.regex(await containers.podman('exec', name, 'spotcheck', 'health', 'start', '--ready'), /^Healthy: /, user);
      t.is(await containers.stop(name), 0, user);
    }
  });

  test.serial('each role of a fleet starts from the image without PostgreSQL and reports its health', async (t) => {
    const { databaseUrl, drop } = await createTestDatabase();
    t.teardown(drop);
    const env = {
      DATABASE_URL: databaseUrl,
      SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
      AGENT_REGION: 'local',
      HOST: '127.0.0.1',
      STOP_GRACE_SECONDS: '0',
      RDAP_BOOTSTRAP_URL: 'http://127.0.0.1:9/dns.json',
    };
    const confined = ['--read-only', '--cap-drop=ALL', '--network=host'];
    const variables = (more: Record<string, string>) =>
      Object.entries({ ...env, ...more }).map(([name, value]) => `--env=${name}=${value}`);
    await containers.run(...confined, ...variables({}), 'spotcheck:fleet', 'migrate');
    for (const role of ['web', 'check', 'evaluate', 'deliver', 'maintain', 'clock']) {
      const ports = { PORT: String(await findKeptPort()), METRICS_PORT: String(await findKeptPort()) };
      const { output } = await containers.start(role, [...confined, ...variables(ports), 'spotcheck:fleet', role]);
      await until(async () => (await output()).includes('"process.started"'));
      await containers.podman('healthcheck', 'run', role);
      t.regex(await containers.podman('exec', role, 'spotcheck', 'health', role, '--ready'), /^Healthy: /, role);
      t.is(await containers.stop(role), 0, role);
    }
  });
} else {
  test(`no image was built: ${missing} is missing (Debian: apt-get install buildah podman crun mmdebstrap)`, (t) => {
    t.pass();
  });
}
