import { decodePayload } from '../../core/checks/transport/payload.ts';
import type { CheckTarget } from '../../core/monitors/monitor.ts';
import type { Parsed } from '../../core/parsed.ts';

/**
 * The bytes that a tcp or udp check sends, a secret payload opened; empty where it sends nothing. Refused where the
 * stored text does not fit its encoding.
 */
export function readPayload({ checkSpec, secrets }: CheckTarget): Parsed<Uint8Array> {
  const { payload, payloadEncoding = 'utf8', payloadSecret } = checkSpec.transport ?? {};
  return decodePayload((payloadSecret ? secrets.payload : payload) ?? '', payloadEncoding);
}
