import { readFile } from 'node:fs/promises';
import tls from 'node:tls';
import type { Harness } from './harness.ts';
import { startReceiver, type Receiver } from './webhook-receiver.ts';

/** Starts an https receiver whose certificate this process trusts, in all TLS contexts created from now on. */
export async function trustedReceiver(t: Harness): Promise<Receiver> {
  const receiver = await startReceiver(t);
  tls.setDefaultCACertificates([...tls.getCACertificates('default'), await readFile(receiver.caFile, 'utf8')]);
  return receiver;
}
