import type { ObservedCertificate } from '../../models/certificates.ts';
import type { AcceptedReport } from './accepted-report.ts';

/**
 * The certificates that an agent saw and that are other than those it saw before, of https monitors, the newest of
 * each.
 */
export function newCertificates(accepted: readonly AcceptedReport[], agentNo: number): ObservedCertificate[] {
  const newest = new Map<number, AcceptedReport & { expiresAt: number }>();
  for (const observed of accepted) {
    const { expiresAt } = observed.report;
    if (
      expiresAt === null ||
      !isSecure(observed) ||
      (newest.get(observed.monitor.no)?.report.startedAtMs ?? 0) > observed.report.startedAtMs
    )
      continue;
    newest.set(observed.monitor.no, { ...observed, expiresAt });
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
