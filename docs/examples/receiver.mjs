// A webhook receiver to try Spotcheck with: node docs/examples/receiver.mjs <folder> [port]
// The folder holds key.pem, cert.pem and, once the channel is made, channel.json: the API's answer with the signing secret.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';

const [folder = '.', port = '8443'] = process.argv.slice(2);
const tell = (line) => void process.stdout.write(`${line}\n`);

/** Null until the channel is made, and the file still empty: the secret comes with the answer that the test delivery decides about. */
function readSecret() {
  const path = join(folder, 'channel.json');
  const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
  return text === '' ? null : (JSON.parse(text).signing_secret ?? null);
}

/** The raw bytes are what is signed: a body that was parsed and written anew need not have them. */
function isSigned(body, header, secret) {
  const expected = Buffer.from(`sha256=${createHmac('sha256', secret).update(body).digest('hex')}`);
  const given = Buffer.from(header ?? '');
  return given.length === expected.length && timingSafeEqual(given, expected);
}

const server = createServer(
  { key: readFileSync(join(folder, 'key.pem')), cert: readFileSync(join(folder, 'cert.pem')) },
  async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const secret = readSecret();
    if (secret !== null && !isSigned(body, request.headers['x-service-signature'], secret)) {
      tell('refused: the signature is wrong');
      response.writeHead(401).end();
      return;
    }
    const { event, test, monitor, reason, detail, event_at: eventAt } = JSON.parse(body.toString('utf8'));
    const proof = secret === null ? 'no secret to verify with yet' : 'signature good';
    tell(
      `${new Date(eventAt * 1000).toISOString()} ${event}${test ? ' (test)' : ''} ${monitor?.name ?? ''}: ${reason} [${proof}]`,
    );
    if (!test) tell(JSON.stringify(detail));
    response.writeHead(204).end();
  },
);
server.listen(Number(port), '127.0.0.1', () => tell(`receiver at https://localhost:${port}/`));
