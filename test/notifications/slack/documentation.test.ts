import { readFile } from 'node:fs/promises';
import test from 'ava';
import { buildAlert } from '../../../core/alerts/chat/alert.ts';
import type { MonitorMessage } from '../../../core/alerts/envelope.ts';
import { renderSlackMessage } from '../../../notifications/slack/attempt.ts';

test('the documented message is the documented event rendered two minutes later', async (t) => {
  const page = await readFile(new URL('../../../docs/deliveries.md', import.meta.url), 'utf8');
  const examples = [...page.matchAll(/^```json\n([^`]*)^```/gm)].map(
    ([, json = '']) => JSON.parse(json) as Record<string, unknown>,
  );
  const event = examples.find((example) => example['event'] === 'monitor.down') as unknown as MonitorMessage;
  const shown = examples.find((example) => Array.isArray(example['blocks']));
  t.deepEqual(shown, { ...renderSlackMessage(buildAlert(event, (event.event_at + 120) * 1000)) });
});
