import { openDnsProbe, type DnsEnvironment } from './dns.ts';
import { createDomainProbe, type KnowDomain } from './domain.ts';
import { dispatch, type OpenProbe } from './probe.ts';
import { createVendorProbe, type VendorPageReader } from './vendor.ts';

export type { ProbeEnvironment } from './http.ts';
export { openAgentProbe, type OpenProbe, type Probe } from './probe.ts';

/** Opens the probe for the service's own checks. */
export function openServiceProbe(
  environment: DnsEnvironment & { readVendorPage: VendorPageReader; knowDomain: KnowDomain },
): OpenProbe {
  const dns = openDnsProbe(environment);
  return {
    probe: dispatch({
      dns: dns.probe,
      domain: createDomainProbe(environment.knowDomain),
      vendor: createVendorProbe(environment.readVendorPage),
    }),
    close: dns.close,
  };
}
