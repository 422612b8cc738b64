/**
 * What came of asking for known vulnerabilities: nothing bad, something bad by lines, or that no registry could be
 * asked and why.
 */
export type AuditOutcome =
  | { kind: 'clean' }
  | { kind: 'found'; lines: string[] }
  | { kind: 'not audited'; reason: string };

type Advisory = { title: string; url: string; severity: string };
type Report = {
  auditReportVersion?: number;
  vulnerabilities?: Record<string, { name: string; severity: string; range: string; via: (Advisory | string)[] }>;
  message?: string;
  error?: { summary?: string };
};

/** Severities that stop a build. */
const SERIOUS: ReadonlySet<string> = new Set(['high', 'critical']);

/** Reads what `npm audit --json` wrote. Anything but a report means that nothing could be asked. */
export function readAudit(text: string): AuditOutcome {
  const report = parse(text);
  if (report?.auditReportVersion === undefined)
    return {
      kind: 'not audited',
      reason: report?.message || report?.error?.summary || text.trim().split('\n')[0] || 'npm said nothing',
    };
  const serious = Object.values(report.vulnerabilities ?? {}).filter(({ severity }) => SERIOUS.has(severity));
  return serious.length === 0
    ? { kind: 'clean' }
    : {
        kind: 'found',
        lines: serious.map(
          (found) => `${found.name} ${found.range}, ${found.severity}: ${found.via.map(describeCause).join('; ')}`,
        ),
      };
}

function parse(text: string): Report | null {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function describeCause(via: Advisory | string): string {
  return typeof via === 'string' ? `by ${via}` : `${via.title} (${via.url})`;
}
