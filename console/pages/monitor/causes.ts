/** What the words of the fixed list mean, for those who read them at night. */
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

/** A cause in words; null where there is none. */
export function describeCause(cause: string | null): string | null {
  if (cause === null) return null;
  const known = CAUSES[cause];
  if (known !== undefined) return known;
  const status = /^status_(\d{3})$/.exec(cause)?.[1];
  if (status !== undefined) return `Answered with status ${status}`;
  const [, source = ''] = /^assert_(text_body|json_body|header|response_time|cert_expiry)_/.exec(cause) ?? [];
  return source === '' ? cause : `An assertion about ${SOURCES[source]} does not hold`;
}
