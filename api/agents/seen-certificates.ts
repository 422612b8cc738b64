import type { SeenCertificate } from '../../models/certificates.ts';
import type { AcceptedReport } from './accepted-report.ts';

/**
 * The certificates that an agent saw and that are other than those it saw before, of https monitors, the newest of
 * each.
 */
export function newCertificates(accepted: readonly AcceptedReport[], agentNo: number): SeenCertificate[] {
  const newest = new Map<number, AcceptedReport & { expiresAt: number }>();
  for (const seen of accepted) {
    const { expiresAt } = seen.report;
    if (
      expiresAt === null ||
      !isSecure(seen) ||
      (newest.get(seen.monitor.no)?.report.startedAtMs ?? 0) > seen.report.startedAtMs
    )
      continue;
    newest.set(seen.monitor.no, { ...seen, expiresAt });
  }
  return [...newest.values()]
    .filter(
      ({ monitor: { target, certificate }, expiresAt }) =>
        certificate?.target !== target || certificate.expiresAt !== expiresAt,
    )
    .map(({ monitor: { no, target }, expiresAt }) => ({
      monitorNo: no,
      agentNo,
      target,
      name: URL.parse(target)?.hostname ?? '',
      expiresAt,
    }));
}

/** What older checks saw belongs to another target, perhaps. */
function isSecure({ monitor: { type, target, checksVersion }, result }: AcceptedReport): boolean {
  return (
    type === 'http' && /^https:/i.test(target) && result.checksVersion === checksVersion && result.verdict !== 'none'
  );
}
