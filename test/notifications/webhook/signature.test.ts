import { randomBytes } from 'node:crypto';
import { verify } from '@octokit/webhooks-methods';
import test from 'ava';
import * as fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { decodeSigningSecret, generateSigningSecret, signDelivery } from '../../../notifications/webhook/signature.ts';

const SECRET = generateSigningSecret(randomBytes);
const DELIVERY = { event: 'monitor.down', deliveryId: 'dlv_1', sentAtSeconds: Math.floor(Date.now() / 1000) };

test('a signing secret is whsec_ and 32 random bytes in base64, different each time', (t) => {
  t.regex(SECRET, /^whsec_[A-Za-z0-9+/]{43}=$/);
  t.is(decodeSigningSecret(SECRET).length, 32);
  t.not(generateSigningSecret(randomBytes), SECRET);
});

test('the headers contain the event, the delivery id and the timestamp', (t) => {
  const headers = signDelivery({ ...DELIVERY, body: Buffer.from('{}') }, SECRET);
  t.like(headers, {
    'X-Service-Event': 'monitor.down',
    'X-Service-Delivery': 'dlv_1',
    'X-Service-Timestamp': String(DELIVERY.sentAtSeconds),
    'webhook-id': 'dlv_1',
    'webhook-timestamp': String(DELIVERY.sentAtSeconds),
  });
});

test('the signature matches one that openssl computed', (t) => {
  // printf '{"version":"1"}' | openssl dgst -sha256 -hmac 'whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY='
  const headers = signDelivery(
    { ...DELIVERY, body: Buffer.from('{"version":"1"}') },
    'whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=',
  );
  t.is(headers['X-Service-Signature'], 'sha256=48a430bcbca2002668fd119d8119b1b269781bb946c197a4dd47c44a162aa469');
});

test('independent verifiers accept every body, and reject it with a byte added', async (t) => {
  const standard = new Webhook(SECRET);
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), async (value) => {
      const text = JSON.stringify({ value });
      const headers = signDelivery({ ...DELIVERY, body: Buffer.from(text) }, SECRET);
      const signature = headers['X-Service-Signature'] ?? '';
      t.true(await verify(SECRET, text, signature));
      t.notThrows(() => standard.verify(text, headers));
      t.false(await verify(SECRET, `${text} `, signature));
      t.throws(() => standard.verify(`${text} `, headers));
    }),
  );
});

test('with a previous secret, independent verifiers accept it and the new one, and no other', async (t) => {
  const [previous, other] = [generateSigningSecret(randomBytes), generateSigningSecret(randomBytes)];
  const text = '{"event":"monitor.down"}';
  const headers = signDelivery({ ...DELIVERY, body: Buffer.from(text) }, SECRET, previous);
  t.notThrows(() => new Webhook(SECRET).verify(text, headers));
  t.notThrows(() => new Webhook(previous).verify(text, headers));
  t.throws(() => new Webhook(other).verify(text, headers));
  t.true(await verify(SECRET, text, headers['X-Service-Signature'] ?? ''));
  t.true(await verify(previous, text, headers['X-Service-Signature-Previous'] ?? ''));
  t.false(await verify(previous, text, headers['X-Service-Signature'] ?? ''));
  t.regex(headers['webhook-signature'] ?? '', /^v1,\S{44} v1,\S{44}$/);
  t.false('X-Service-Signature-Previous' in signDelivery({ ...DELIVERY, body: Buffer.from(text) }, SECRET));
});

test("the timestamp is part of the standard signature, but not of the service's own", (t) => {
  const body = Buffer.from('{}');
  const first = signDelivery({ ...DELIVERY, body }, SECRET);
  const later = signDelivery({ ...DELIVERY, body, sentAtSeconds: DELIVERY.sentAtSeconds + 5 }, SECRET);
  t.is(first['X-Service-Signature'], later['X-Service-Signature']);
  t.not(first['webhook-signature'], later['webhook-signature']);
});
