import { api } from '../../client/api.ts';
import type { Schemas } from '../../client/shapes.ts';
import { FactLine } from '../../parts/facts.tsx';
import { Loaded, useLoad } from '../../parts/load.tsx';
import { formatShort } from '../../parts/time.tsx';
import { formatMs } from '../../plots/time-labels.ts';
import { hasTimings, TimingBar, sumTimings } from '../../plots/timing-bar.tsx';
import { AnswerEvidence } from './answer-evidence.tsx';
import { sentence } from './status-words.ts';

/** Explanations of the causes. */
const CAUSES: Readonly<Record<string, string>> = {
  body_mismatch: 'The answer does not contain the expected text',
  slow: 'The answer took longer than allowed',
  cert_expiring: 'The certificate expires soon',
  cert_expired: 'The certificate has expired',
  tls_error: 'No encrypted connection could be made',
  timeout: 'No answer in time',
  conn_refused: 'The connection was refused: nothing listens there',
  conn_error: 'The connection broke',
  dns_nxdomain: 'The name does not exist',
  dns_error: 'The name could not be looked up',
  blocked_target: 'The target is one that we do not connect to',
  insecure_redirect: 'A redirect leads from https to http',
  too_many_redirects: 'Too many redirects',
  tcp_mismatch: 'The answer is not the expected one',
  tcp_no_banner: 'Connected, but nothing was answered',
  udp_no_reply: 'No reply',
  udp_mismatch: 'The reply is not the expected one',
  icmp_timeout: 'No echo came back',
  icmp_unavailable: 'The location cannot send echo requests',
  dns_mismatch: 'The records are not the expected ones',
  dns_disagree: 'Resolvers disagree',
  domain_expiring: 'The domain expires soon',
  domain_expired: 'The domain has expired',
  domain_unknown: 'The registry does not say when the domain expires',
  vendor_degraded: 'The vendor reports trouble',
  vendor_down: 'The vendor reports a major outage',
  vendor_unreachable: 'The status page could not be read',
  heartbeat_missed: 'No ping came in time',
  heartbeat_failed: 'The job reported a failure',
  heartbeat_overrun: 'The job ran longer than allowed',
  unsupported: 'The location cannot run this kind of check',
};

const SOURCES: Readonly<Record<string, string>> = {
  text_body: 'the text',
  json_body: 'the JSON',
  header: 'a header',
  response_time: 'the response time',
  cert_expiry: "the certificate's expiry",
};

/** Explains a cause; null if there is none. */
function describeCause(cause: string | null): string | null {
  if (cause === null) return null;
  const known = CAUSES[cause];
  if (known !== undefined) return known;
  const status = /^status_(\d{3})$/.exec(cause)?.[1];
  if (status !== undefined) return `Answered with status ${status}`;
  const [, source = ''] = /^assert_(text_body|json_body|header|response_time|cert_expiry)_/.exec(cause) ?? [];
  return source === '' ? cause : `An assertion about ${SOURCES[source]} does not hold`;
}

type Check = Schemas['Check'];

/** The details of one check: reason, timings and, for a failure, the response. */
export function CheckDetails({ check, monitorId }: { check: Check; monitorId: string }) {
  const { cause, reason, http_status: status, latency_ms: ms, phases } = check;
  const isFailure = check.verdict === 'down' || check.verdict === 'degraded';
  return (
    <div class="grid gap-3 text-sm">
      <dl class="grid gap-x-6 gap-y-1 md:grid-cols-[8rem_1fr]">
        {reason !== null && <FactLine name="Why">{sentence(reason)}</FactLine>}
        {cause !== null && (
          <FactLine name="Cause">
            {describeCause(cause)} <code class="text-xs text-soft">{cause}</code>
          </FactLine>
        )}
        {status !== null && <FactLine name="HTTP status">{status}</FactLine>}
        {ms !== null && <FactLine name="Took">{formatMs(ms)}</FactLine>}
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
          <p class="text-xs text-soft">Good results store their timings once in ten minutes; this one did not.</p>
        )
      )}
      {isFailure && <Evidence check={check} monitorId={monitorId} />}
    </div>
  );
}

const DNS_FAILURES: Readonly<Record<string, string>> = {
  nxdomain: 'the name does not exist',
  timeout: 'no answer in time',
  servfail: 'the server failed',
  refused: 'the server refused',
  unreachable: 'the server could not be reached',
  invalid: 'no valid answer',
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
          return <p class="text-xs text-soft">No response stored. Incidents store the first failure per location.</p>;
        return (
          <div>
            <h3 class="mb-1 text-[0.8125rem] font-medium">
              {own === undefined
                ? `First response from ${shown.source.name} in this incident, ${formatShort(shown.at)}`
                : 'Response'}
            </h3>
            <AnswerEvidence answer={shown.answer} />
          </div>
        );
      }}
    </Loaded>
  );
}

/** The evidence of the incident that a failure belongs to, however old it is; empty if it opened none. */
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
