import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { readAudit, type AuditOutcome } from './audit-report.ts';

/** Timeout of the registry, in milliseconds; it answers within seconds or not at all. */
const DEADLINE_MS = 60_000;

/**
 * Audits the production dependencies, and fails for a vulnerability of severity high or more. With `--require` it also
 * fails if no registry answered.
 */
async function audit(): Promise<AuditOutcome> {
  const args = ['audit', '--omit=dev', '--json', '--fetch-retries=0', '--fetch-timeout=20000'];
  const child = spawn('npm', args, { stdio: ['ignore', 'pipe', 'ignore'], timeout: DEADLINE_MS });
  const failure = new Promise<AuditOutcome>((resolve) =>
    child.once('error', (error) => resolve({ kind: 'not audited', reason: error.message })),
  );
  return await Promise.race([failure, text(child.stdout).then(readAudit)]);
}

const isRequired = process.argv.includes('--require');
const outcome = await audit();
if (outcome.kind === 'clean')
  process.stdout.write('No vulnerability of severity high or more is known in what production installs\n');
if (outcome.kind === 'not audited') {
  const consequence = isRequired ? 'this build stops, because it was to be' : 'with --require a build stops here';
  process.stdout.write(`Known vulnerabilities were not asked for: ${outcome.reason}\nNOT AUDITED: ${consequence}\n`);
}
if (outcome.kind === 'found') for (const line of outcome.lines) process.stdout.write(`${line}\n`);
process.exitCode = outcome.kind === 'found' || (outcome.kind === 'not audited' && isRequired) ? 1 : 0;
