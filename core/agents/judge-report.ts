import { CAUSES, MAX_CAUSE, MAX_REASON, UP, type FixedCause, type Vote } from '../checks/verdict.ts';
import { cleanText, quote } from '../foreign-text.ts';
import type { Report } from './requests.ts';
import { UNSUPPORTED_BY_AGENT, type Inability } from './wire.ts';

/** Explanations of causes, for results without a reason of their own. */
const SENTENCES = {
  body_mismatch: 'The body does not contain the expected text',
  slow: 'The response was too slow',
  cert_expiring: 'The certificate is about to expire',
  cert_expired: 'The certificate has expired',
  tls_error: 'The TLS handshake failed',
  timeout: 'There was no response in time',
  conn_refused: 'The connection was refused',
  conn_error: 'The connection failed',
  dns_nxdomain: 'The host name does not exist',
  dns_error: 'The host name could not be resolved',
  blocked_target: 'The agent may not contact this target',
  insecure_redirect: 'A redirect from https to http was refused because the check carries secrets',
  too_many_redirects: 'There were too many redirects',
  tcp_mismatch: 'The response does not contain the expected text',
  tcp_no_banner: 'Nothing was received',
  udp_no_reply: 'There was no reply',
  udp_mismatch: 'The reply does not contain the expected text',
  icmp_timeout: 'Echo requests got no reply in time',
  icmp_unavailable: 'The agent cannot send echo requests',
  dns_mismatch: 'The records are not the expected ones',
  dns_disagree: 'Resolvers disagree',
  domain_expiring: 'The domain is about to expire',
  domain_expired: 'The domain has expired',
  domain_unknown: 'The state of the domain is unknown',
  vendor_degraded: 'The vendor is degraded',
  vendor_down: 'The vendor is down',
  vendor_unreachable: "The vendor's page could not be read",
  heartbeat_missed: 'No ping came in time',
  heartbeat_failed: 'The job reported a failure',
  heartbeat_overrun: 'The job ran longer than allowed',
  unsupported: 'The agent cannot run this check',
} satisfies Record<FixedCause, string>;

/** Causes that only third-party agents report. */
const FOREIGN_SENTENCES: ReadonlyMap<string, string> = new Map([
  ['tcp_refused', 'The connection was refused'],
  ['tcp_timeout', 'The connection timed out'],
  ['tcp_error', 'The connection failed'],
  ['udp_error', 'The datagram could not be sent, or no reply received'],
  ['icmp_socket', 'The agent could not open a socket for echo requests'],
  ['bad_request', "The agent could not build a request from the monitor's settings"],
]);

const STATUS = /^status_(\d{3})$/;
const ASSERTION = /^assert_(text_body|json_body|header|response_time|cert_expiry)_/;

const ASSERTED = {
  text_body: 'The body is not as expected',
  json_body: 'A value of the JSON body is not as expected',
  header: 'A header is not as expected',
  response_time: 'The response time is not as expected',
  cert_expiry: "The certificate's expiry is not as expected",
} as const;

/**
 * Explains a cause in a sentence for people, for results without a reason. An unknown cause is quoted as reported by
 * the named agent.
 */
export function describeCause(cause: string, agentName: string): string {
  const fixed = CAUSES.find((known) => known === cause);
  if (fixed !== undefined) return SENTENCES[fixed];
  const foreign = FOREIGN_SENTENCES.get(cause);
  if (foreign !== undefined) return foreign;
  const status = STATUS.exec(cause)?.[1];
  if (status !== undefined) return `HTTP ${status} instead of the expected status`;
  const source = ASSERTION.exec(cause)?.[1] as keyof typeof ASSERTED | undefined;
  return source === undefined ? `The agent ${agentName} reported: ${quote(cause).slice(1, -1)}` : ASSERTED[source];
}

/** Judgement in an agent's report; the cause may be one that only the agent's maker can interpret. */
type ReportedJudgement = { verdict: Vote; cause: string | null; reason: string | null };

/** Causes that mean that the agent could not measure: no vote, as with the service's own probes (D-20). */
const NO_VOTE = new Set([
  UNSUPPORTED_BY_AGENT,
  'unsupported',
  'blocked_target',
  'icmp_unavailable',
  'icmp_socket',
  'bad_request',
]);

/** Reasons why the report of an agent that cannot run a monitor is no vote. */
const INABILITIES = {
  capability: (agent) => `The agent ${agent} does not support this type of monitor`,
  no_key: (agent) => `The agent ${agent} has sent no key to encrypt this monitor's secrets with`,
  other_key: (agent) =>
    `The agent ${agent} sends a different key than its first one, so it does not get this monitor's secrets: ` +
    'rotate its token to accept the new key',
} satisfies Record<Inability, (agent: string) => string>;

/**
 * Judges a report. `inability` is why the agent cannot have run the check as it is (null = it can): then the report is
 * no vote.
 */
export function judgeReport(report: Report, agent: { name: string; inability: Inability | null }): ReportedJudgement {
  if (agent.inability !== null)
    return { verdict: 'none', cause: UNSUPPORTED_BY_AGENT, reason: INABILITIES[agent.inability](agent.name) };
  if (report.ok && !report.degraded) return UP;
  const cause = cleanText(report.cause ?? '', MAX_CAUSE) || null;
  return { verdict: verdictOf(report.ok, cause), cause, reason: reasonOf(report, { cause, name: agent.name }) };
}

function verdictOf(ok: boolean, cause: string | null): Vote {
  if (ok) return 'degraded';
  return cause !== null && NO_VOTE.has(cause) ? 'none' : 'down';
}

function reasonOf(report: Report, { cause, name }: { cause: string | null; name: string }): string {
  const own = cleanText(report.reason ?? '', MAX_REASON);
  if (own) return own;
  if (cause === UNSUPPORTED_BY_AGENT) return `The agent ${name} cannot run this check`;
  if (cause !== null) return describeCause(cause, name);
  return report.ok ? `The agent ${name} reported it as degraded` : `The agent ${name} reported a failure`;
}
