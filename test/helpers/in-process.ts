import { Agent, request as httpRequest, type IncomingHttpHeaders, type Server } from 'node:http';
import { duplexPair } from 'node:stream';

/** A request; its body is sent unchanged. */
export type InProcessRequest = { method: string; path: string; headers?: Record<string, string>; body?: string };
export type InProcessAnswer = { status: number; headers: IncomingHttpHeaders; text: string };

/**
 * Sends HTTP to a server of this process through memory. Parser and application are the same, but it avoids the system
 * calls of sockets, which dominate small requests. Connections are kept. `address` is the client's address as seen by
 * the server.
 */
export function connectInProcess(
  server: Server,
  address?: string,
): { send: (request: InProcessRequest) => Promise<InProcessAnswer>; close: () => void } {
  const agent = new Agent({ keepAlive: true });
  agent.createConnection = () => {
    const [ours, theirs] = duplexPair();
    // Servers and agents call these methods of sockets, which plain streams lack.
    for (const side of [ours, theirs])
      Object.assign(side, {
        setTimeout: () => side,
        setNoDelay: () => side,
        setKeepAlive: () => side,
        ref: () => side,
        unref: () => side,
        remoteAddress: address,
      });
    // Unlike sockets, the sides of a pair do not close each other.
    ours.once('close', () => theirs.destroy());
    server.emit('connection', theirs);
    return ours;
  };
  const send = ({ method, path, headers = {}, body }: InProcessRequest) =>
    new Promise<InProcessAnswer>((resolve, reject) => {
      const length = body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) };
      const request = httpRequest({ agent, method, path, headers: { Host: 'localhost', ...length, ...headers } });
      request.once('error', reject);
      request.once('response', (response) => {
        let text = '';
        response.setEncoding('utf8');
        const answer = () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
        // An event stream is endless: its part up to the first event is the response.
        const isStream = response.headers['content-type']?.startsWith('text/event-stream') === true;
        response.on('data', (chunk: string) => {
          text += chunk;
          if (!isStream || !text.includes('event: ')) return;
          answer();
          request.destroy();
        });
        response.once('error', reject);
        response.once('end', answer);
      });
      request.end(body);
    });
  return { send, close: () => agent.destroy() };
}
