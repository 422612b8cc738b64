import { traceOf } from '../../core/checks/trace-context.ts';
import { attributesOf, type FailedCheck, type Origin } from '../../core/system/otlp.ts';

/** Resource and scope of a process, with one attribute of each kind. */
export const ORIGIN: Origin = {
  resource: { attributes: attributesOf({ 'service.name': 'spotcheck', 'process.pid': 70_000, share: 0.5 }) },
  scope: { name: 'spotcheck', version: '0.1.0' },
};

/** Returns a failed check of an http monitor, whose target contains secrets. */
export function failedCheck(different: Partial<FailedCheck> = {}): FailedCheck {
  const check = { monitorId: 'mon_1', sourceId: 'agt_1', dueAtMs: 1_763_721_000_123 };
  return {
    ids: traceOf(check, () => '0123456789abcdef'.repeat(4)),
    tenantId: 'ten_1',
    monitor: {
      id: 'mon_1',
      name: 'Lädchen',
      type: 'http',
      target: 'https://u:p@shop.example:8443/a?key=s3cret#x',
      method: 'GET',
    },
    source: { id: 'agt_1', name: 'frankfurt' },
    startedAtMs: 1_763_721_000_123.5,
    endedAtMs: 1_763_721_000_214.5,
    timings: { dnsMs: 4, connectMs: 18, tlsMs: null, firstByteMs: 69, downloadMs: null },
    httpStatus: 503,
    verdict: 'down',
    cause: 'status_503',
    reason: 'HTTP 503 instead of 2xx',
    ...different,
  };
}
