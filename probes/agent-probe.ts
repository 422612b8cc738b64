import { createHttpProbe } from './http.ts';
import { openIcmpProbe, type IcmpEnvironment } from './icmp.ts';
import { dispatch, type OpenProbe } from './probe.ts';
import { createTcpProbe } from './tcp.ts';
import { createUdpProbe } from './udp.ts';

/**
 * Opens the probe of what agents check, a customer's own as well as a shared one. It loads nothing that only the
 * service's own checks need.
 */
export function openAgentProbe(environment: IcmpEnvironment): OpenProbe {
  const icmp = openIcmpProbe(environment);
  return {
    probe: dispatch({
      http: createHttpProbe(environment),
      tcp: createTcpProbe(environment),
      udp: createUdpProbe(environment),
      icmp: icmp.probe,
    }),
    close: icmp.close,
  };
}
