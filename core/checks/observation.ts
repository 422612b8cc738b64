import type { MonitorType } from '../monitors/monitor.ts';
import type { DnsObservation } from './dns/observation.ts';
import type { DomainObservation } from './domain/observation.ts';
import type { HttpObservation } from './http/observation.ts';
import type { IcmpObservation } from './icmp/observation.ts';
import type { TcpObservation, UdpObservation } from './transport/observation.ts';
import type { VendorObservation } from './vendor/observation.ts';

/** A monitor whose type this program cannot probe. */
type UnsupportedObservation = { type: 'unsupported'; monitorType: MonitorType; latencyMs: null };

/** Facts of one probe, by protocol. */
export type Observation =
  | DnsObservation
  | DomainObservation
  | HttpObservation
  | IcmpObservation
  | TcpObservation
  | UdpObservation
  | VendorObservation
  | UnsupportedObservation;
