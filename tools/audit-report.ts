/** The result of an audit: no findings, findings by line, or the reason why no registry answered. */
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

/** Parses the output of `npm audit --json`. Anything but a report means that no registry answered. */
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
