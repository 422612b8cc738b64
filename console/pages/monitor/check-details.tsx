import { api, type Schemas } from '../../client/api.ts';
import { Loaded, useLoad } from '../../parts/load.tsx';
import { FactLine } from '../../parts/object-page.tsx';
import { formatExact, formatMs } from '../../parts/time.tsx';
import { TimingBar, hasTimings, sumTimings } from '../../plots/timing-bar.tsx';
import { reasonOf } from './status-words.ts';

/** Explanations of the causes. */
const CAUSES: Readonly<Record<string, string>> = {
  body_mismatch: 'The response does not contain the expected text',
  slow: 'The response took longer than allowed',
  cert_expiring: 'The certificate expires soon',
  cert_expired: 'The certificate has expired',
  tls_error: 'TLS handshake failed',
  timeout: 'Request timed out',
  conn_refused: 'Connection refused',
  conn_error: 'Connection failed',
  dns_nxdomain: 'The host name does not exist (NXDOMAIN)',
  dns_error: 'DNS lookup failed',
  blocked_target: 'Connections to this address are blocked',
  insecure_redirect: 'Redirect from https to http',
  too_many_redirects: 'Too many redirects',
  tcp_mismatch: 'Unexpected response',
  tcp_no_banner: 'Connected, but no response',
  udp_no_reply: 'No reply',
  udp_mismatch: 'Unexpected reply',
  icmp_timeout: 'No echo reply',
  icmp_unavailable: 'The location cannot send ICMP pings',
  dns_mismatch: 'Unexpected records',
  dns_disagree: 'Resolvers disagree',
  domain_expiring: 'The domain expires soon',
  domain_expired: 'The domain has expired',
  domain_unknown: 'The registry does not say when the domain expires',
  vendor_degraded: 'The vendor reports degraded service',
  vendor_down: 'The vendor reports a major outage',
  vendor_unreachable: 'The status page could not be read',
  heartbeat_missed: 'Missed ping',
  heartbeat_failed: 'The job reported a failure',
  heartbeat_overrun: 'Job exceeded its max run time',
  unsupported: 'The location cannot run this type of check',
};

const SOURCES: Readonly<Record<string, string>> = {
  text_body: 'text body',
  json_body: 'JSON body',
  header: 'header',
  response_time: 'response time',
  cert_expiry: 'certificate expiry',
};

/** Explains a cause; null if there is none. */
function describeCause(cause: string | null): string | null {
  if (cause === null) return null;
  const known = CAUSES[cause];
  if (known !== undefined) return known;
  const status = /^status_(\d{3})$/.exec(cause)?.[1];
  if (status !== undefined) return `HTTP status ${status}`;
  const [, source = ''] = /^assert_(text_body|json_body|header|response_time|cert_expiry)_/.exec(cause) ?? [];
  return source === '' ? cause : `Assertion failed: ${SOURCES[source]}`;
}

type Check = Schemas['Check'];

/** The details of one check: reason, timings and, for a failure, the response. */
export function CheckDetails({ check, monitorId }: { check: Check; monitorId: string }) {
  const { cause, reason, http_status: status, latency_ms: ms, phases } = check;
  const isFailure = check.verdict === 'down' || check.verdict === 'degraded';
  return (
    <div class="grid gap-3 text-sm">
      <dl class="grid gap-x-6 gap-y-1 md:grid-cols-[8rem_1fr]">
        {reason !== null && <FactLine name="Reason">{reasonOf(check)}</FactLine>}
        {cause !== null && (
          <FactLine name="Cause">
            {describeCause(cause)} <code class="text-xs text-soft">{cause}</code>
          </FactLine>
        )}
        {status !== null && <FactLine name="HTTP status">{status}</FactLine>}
        {ms !== null && (
          <FactLine name={check.ping === undefined ? 'Response time' : 'Run time'}>{formatMs(ms)}</FactLine>
        )}
        {check.dns_answers?.map(({ type, records, failure }) => (
          <FactLine key={type} name={type}>
            {failure === null ? records.join(', ') || 'no records' : (DNS_FAILURES[failure] ?? failure)}
          </FactLine>
        ))}
      </dl>
      {hasTimings(phases) ? (
        <TimingBar timings={phases} fullMs={sumTimings(phases)} label="Timings of this check" />
      ) : (
        check.ping === undefined &&
        check.dns_answers === undefined &&
        check.verdict === 'up' && (
          <p class="text-xs text-soft">
            Successful checks store a timing breakdown every 10 minutes. This one has none.
          </p>
        )
      )}
      {check.output !== undefined && check.output !== null && <Output text={check.output} />}
      {isFailure && check.ping === undefined && <Evidence check={check} monitorId={monitorId} />}
    </div>
  );
}

/** What a job sent with its ping. */
function Output({ text }: { text: string }) {
  return (
    <div>
      <h3 class="mb-1 text-[0.8125rem] font-medium">Output</h3>
      <pre
        class="max-h-72 overflow-auto whitespace-pre-wrap break-all rounded-lg border border-line bg-surface px-3 py-2
          font-mono text-[0.8125rem] leading-5"
        tabIndex={0}
        role="group"
        aria-label="Output of the job"
      >
        {text}
      </pre>
    </div>
  );
}

const DNS_FAILURES: Readonly<Record<string, string>> = {
  nxdomain: 'host name does not exist',
  timeout: 'timed out',
  servfail: 'server failure (SERVFAIL)',
  refused: 'refused by the server',
  unreachable: 'server unreachable',
  invalid: 'invalid response',
};

/** The stored response of this check or, if it has none, of its location's first failure in the incident. */
function Evidence({ check, monitorId }: { check: Check; monitorId: string }) {
  const load = useLoad((signal) => findEvidence(monitorId, check, signal), [monitorId, check.at]);
  return (
    <Loaded load={load} height="h-16">
      {(evidence) => {
        const ofSource = evidence.filter(({ source, answer }) => source.id === check.source.id && answer !== null);
        const own = ofSource.find(({ at }) => at === Math.floor(check.at));
        const shown = own ?? ofSource.find(({ verdict }) => verdict === check.verdict) ?? ofSource[0];
        if (shown === undefined || shown.answer === null)
          return (
            <p class="text-xs text-soft">No response stored. Incidents keep the first failure of each location.</p>
          );
        return (
          <div>
            <h3 class="mb-1 text-[0.8125rem] font-medium">
              {own === undefined
                ? `First failure from ${shown.source.name} in this incident, ${formatExact(shown.at)}`
                : 'Response'}
            </h3>
            <AnswerEvidence answer={shown.answer} />
          </div>
        );
      }}
    </Loaded>
  );
}

/** Returns the evidence of the incident that a failure belongs to, however old it is; empty if it opened none. */
async function findEvidence(
  monitorId: string,
  { at }: Check,
  signal: AbortSignal,
): Promise<readonly Schemas['IncidentEvidence'][]> {
  const query = { monitor_id: monitorId, until: Math.floor(at), limit: 1 };
  const [incident] = (await api.get('/incidents', { query, signal })).incidents;
  if (incident === undefined || (incident.resolved_at !== null && at > incident.resolved_at + 1)) return [];
  return (await api.get('/incidents/{id}', { path: { id: incident.id }, signal })).evidence;
}

type Answer = NonNullable<Schemas['IncidentEvidence']['answer']>;

const WITHHELD: Readonly<Record<string, string>> = {
  secrets: 'Body not stored: it could repeat secrets that the check sends.',
  not_text: 'Body not stored: it is not text.',
};

/** The stored part of a response: status, headers and the beginning of the body. */
export function AnswerEvidence({ answer: { status, headers, body, body_withheld: withheld } }: { answer: Answer }) {
  const lines = Object.entries(headers);
  return (
    <div class="overflow-hidden rounded-lg border border-line bg-surface font-mono text-[0.8125rem] leading-5">
      {(status !== null || lines.length > 0) && (
        <div
          class="max-h-60 overflow-auto border-b border-line px-3 py-2"
          tabIndex={0}
          role="group"
          aria-label="Response headers"
        >
          {status !== null && <div class="font-semibold">HTTP {status}</div>}
          {lines.map(([name, value]) => (
            <div key={name} class="break-all">
              <span class="text-soft">{name}:</span> {value}
            </div>
          ))}
        </div>
      )}
      {body === null || body === '' ? (
        <p class="px-3 py-2 font-sans text-soft">
          {withheld === null ? 'The body is empty or was not read.' : (WITHHELD[withheld] ?? withheld)}
        </p>
      ) : (
        <pre
          class="max-h-72 overflow-auto whitespace-pre-wrap break-all px-3 py-2"
          tabIndex={0}
          role="group"
          aria-label="Start of the response body"
        >
          {body}
        </pre>
      )}
    </div>
  );
}
