import { writeFile } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { TestAuthority } from './certificates.ts';
import type { Harness } from './harness.ts';
import { startHttpServer } from './http-server.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** A received message. */
export type Received = {
  headers: IncomingHttpHeaders;
  body: string;
  event: string;
  json: Record<string, unknown>;
  atMs: number;
};

/** `answer` is the response from now on: a status and a body, or none while `isHeld`. */
export type Receiver = {
  url: string;
  received: Received[];
  answer: { status: number; body: string; isHeld: boolean };
  caFile: string;
};

/**
 * Starts an https receiver that stores its requests; `caFile` is the authority that a sender must trust
 * (NODE_EXTRA_CA_CERTS). Several receivers of a process can share an authority.
 */
export async function startReceiver(t: Harness, shared?: TestAuthority): Promise<Receiver> {
  const authority = shared ?? (await TestAuthority.create());
  const caFile = join(await temporaryFolder(t), 'ca.pem');
  await writeFile(caFile, authority.pem);
  const received: Received[] = [];
  const answer = { status: 204, body: '', isHeld: false };
  const { port } = await startHttpServer(
    t,
    (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks).toString('utf8');
        received.push({
          headers: request.headers,
          body,
          event: String(request.headers['x-service-event']),
          json: JSON.parse(body),
          atMs: Date.now(),
        });
        response.statusCode = answer.status;
        if (!answer.isHeld) response.end(answer.body);
      });
    },
    await authority.issue({ hosts: ['127.0.0.1'] }),
  );
  return { url: `https://127.0.0.1:${port}/hook`, received, answer, caFile };
}
