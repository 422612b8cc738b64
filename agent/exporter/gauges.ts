import { labelValue, writeHead, writeSample } from '../../core/statistics/exposition.ts';

/** All gauges of a probe, in the names of blackbox_exporter. */
const HELP = {
  probe_dns_additional_rrs: 'Number of entries in the additional resource record list.',
  probe_dns_answer_rrs: 'Number of entries in the answer resource record list.',
  probe_dns_authority_rrs: 'Number of entries in the authority resource record list.',
  probe_dns_duration_seconds: 'Duration of the DNS request by phase.',
  probe_dns_lookup_time_seconds: 'How long the lookup of the host of the target took.',
  probe_dns_query_succeeded: 'Whether the query was answered.',
  probe_dns_serial: 'Serial number of the zone.',
  probe_duration_seconds: 'How long the probe took.',
  probe_expect_info: 'What an expected text held.',
  probe_failed_due_to_bytes: 'Whether the probe failed because of expected bytes.',
  probe_failed_due_to_regex: 'Whether the probe failed because of a regular expression.',
  probe_http_content_length: 'Length of the body as the response states it, -1 where it does not.',
  probe_http_duration_seconds: 'Duration of the http request by phase, summed over all redirects.',
  probe_http_last_modified_timestamp_seconds: 'Last-Modified of the response in Unix seconds.',
  probe_http_redirects: 'Number of redirects.',
  probe_http_ssl: 'Whether the final response came over TLS.',
  probe_http_status_code: 'Status code of the response, 0 without one.',
  probe_http_uncompressed_body_length: 'Length of the body with its compression undone.',
  probe_http_version: 'Version of HTTP of the response.',
  probe_icmp_duration_seconds: 'Duration of the echo request by phase.',
  probe_ip_addr_hash: 'Hash of the address that was probed.',
  probe_ip_protocol: 'Whether the address is of IPv4 or IPv6.',
  probe_ssl_earliest_cert_expiry: 'When the first certificate of the chain expires, in Unix seconds.',
  probe_ssl_last_chain_expiry_timestamp_seconds: 'When the verified chain expires, in Unix seconds.',
  probe_ssl_last_chain_info: 'The certificate of the server.',
  probe_success: 'Whether the probe was a success.',
  probe_timeout_seconds: 'The timeout of the probe.',
  probe_tls_version_info: 'The version of TLS.',
} as const;

export type GaugeName = keyof typeof HELP;
type Labels = Readonly<Record<string, string>>;

/** What one probe measured. */
export class Gauges {
  readonly #samples = new Map<GaugeName, Map<string, number>>();

  set(name: GaugeName, value: number, labels: Labels = {}): void {
    this.#samplesOf(name).set(written(labels), value);
  }

  add(name: GaugeName, value: number, labels: Labels = {}): void {
    const samples = this.#samplesOf(name);
    const key = written(labels);
    samples.set(key, (samples.get(key) ?? 0) + value);
  }

  /** Sets gauges to 0 until they are known. */
  declare(...names: readonly GaugeName[]): void {
    for (const name of names) this.set(name, 0);
  }

  /** The same for each phase of a duration. */
  declareSteps(name: GaugeName, phases: readonly string[]): void {
    for (const phase of phases) this.add(name, 0, { phase });
  }

  /** In the text format of Prometheus, by name. */
  write(): string {
    let text = '';
    for (const name of [...this.#samples.keys()].toSorted()) {
      text += writeHead(name, HELP[name]);
      for (const [labels, value] of this.#samples.get(name) ?? []) text += writeSample(name, labels, value);
    }
    return text;
  }

  #samplesOf(name: GaugeName): Map<string, number> {
    const samples = this.#samples.get(name) ?? new Map<string, number>();
    this.#samples.set(name, samples);
    return samples;
  }
}

function written(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${labelValue(value, MOST_LABEL_CHARACTERS)}"`)
    .join(',');
}

/** Certificates can have many alternative names. */
const MOST_LABEL_CHARACTERS = 4096;
