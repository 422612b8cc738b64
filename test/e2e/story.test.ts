import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { apiClient } from '../helpers/api-client.ts';
import { outputMatching, startProgram } from '../helpers/program.ts';
import { testDataDirectory, testServers } from '../helpers/test-servers.ts';
import { until } from '../helpers/until.ts';
import { startReceiver } from '../helpers/webhook-receiver.ts';
import { runStory, runStoryInFleet } from './outage-story.ts';

test('npm start on an empty folder reports an outage and its recovery to a signed webhook', async (t) => {
  const directory = await mkdtemp(join(testDataDirectory(), 'spotcheck-e2e-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  const receiver = await startReceiver(t);
  const env = { DATA_DIR: join(directory, 'data'), PORT: '0', NODE_EXTRA_CA_CERTS: receiver.caFile };
  const service = startProgram(t, ['cli/spotcheck.ts', 'start'], env);
  const [, url = ''] = await outputMatching(service, /ready at (\S+)/);
  const [, token = ''] = /API token\s+(spk_\S+)/.exec(service.output()) ?? [];
  await until(async () => (await fetch(`${url}/readyz`)).ok);

  await runStory(t, { url, token }, receiver);

  t.is(await service.stop(), 0, service.output());
  const again = startProgram(t, ['cli/spotcheck.ts', 'start'], env);
  const [, sameInstallation = ''] = await outputMatching(again, /ready at (\S+)/);
  t.notRegex(again.output(), /API token/);
  t.is((await apiClient(sameInstallation, token)('GET', '/incidents')).json['incidents'].length, 1);
  t.is(await again.stop('SIGINT'), 0);
});

const { redisUrl } = testServers();
if (redisUrl !== null)
  test("the Procfile's fleet with queues in redis reports an outage and its recovery", (t) =>
    runStoryInFleet(t, redisUrl));
