import { createHmac, randomBytes } from 'node:crypto';
import { buildTestMessage, completeEnvelope } from '../core/alerts/envelope.ts';
import { generateSigningSecret, signDelivery } from '../notifications/webhook/signature.ts';
import type { BenchContext } from './benchmark.ts';
import { median } from './figures.ts';

const WARM_UP_ROUNDS = 3;
const MESSAGES_A_ROUND = 20_000;

/** Bound of signing and serializing, in microseconds. */
const SIGNING_US = 30;

/**
 * Compares the preparation of one webhook attempt (envelope, bytes and both signatures) with a bare HMAC of the same
 * bytes, in turns.
 */
export async function sign({ isQuick, report }: BenchContext): Promise<void> {
  const signingSecret = generateSigningSecret(randomBytes);
  const message = buildTestMessage({ nowMs: Date.now(), publicUrl: 'https://spotcheck.example' });
  const deliveryId = 'dlv_01jd7c2v9qk3m5x8r4t6w0y1za';
  const prepare = () => {
    const sentAtMs = Date.now();
    const body = Buffer.from(JSON.stringify(completeEnvelope(message, { deliveryId, sentAtMs })));
    return signDelivery(
      { body, event: message.event, deliveryId, sentAtSeconds: Math.floor(sentAtMs / 1000) },
      signingSecret,
    );
  };
  const contestants = [
    {
      name: 'bare HMAC',
      run: () => createHmac('sha256', signingSecret).update(JSON.stringify(message)).digest('hex'),
      samples: [] as number[],
    },
    { name: 'a delivery, ready to be sent', run: prepare, samples: [] as number[] },
  ];
  for (let round = 0; round < WARM_UP_ROUNDS + (isQuick ? 3 : 9); round += 1) {
    for (const { run, samples } of contestants) {
      const microseconds = measure(run);
      if (round >= WARM_UP_ROUNDS) samples.push(microseconds);
    }
  }
  const bare = median(contestants[0]?.samples ?? []);
  for (const { name, samples } of contestants) {
    const microseconds = median(samples);
    report.figure(`${name}: ${microseconds.toFixed(1)} us, ratio ${(microseconds / bare).toFixed(2)}`);
  }
  report.bound({
    name: 'signing and serialising a delivery',
    value: median(contestants[1]?.samples ?? []),
    unit: ' us',
    atMost: SIGNING_US,
  });
}

function measure(run: () => unknown): number {
  const startedAt = performance.now();
  for (let count = 0; count < MESSAGES_A_ROUND; count += 1) run();
  return ((performance.now() - startedAt) * 1000) / MESSAGES_A_ROUND;
}
