import type { MonitorContext } from '../../../../core/monitors/input/complete.ts';
import { readSchedule } from '../../../../models/heartbeats/schedule.ts';

/** A pro account with three shared agents, a private one, and one vendor monitor. */
export const CONTEXT: MonitorContext = {
  monitorId: 'mon_1',
  minIntervalSeconds: 1,
  sharedAgentIds: ['agt_a', 'agt_b', 'agt_c'],
  aliveAgentIds: ['agt_a', 'agt_b', 'agt_c'],
  ownAgentIds: ['agt_mine'],
  vendorMonitorIds: ['mon_vendor'],
  vendorReading: null,
  newHeartbeatToken: 'token-of-the-server',
  findRegistrableDomain: (host) => (host === 'co.uk' ? null : host.split('.').slice(-2).join('.')),
  readSchedule: (schedule) => readSchedule(schedule, Date.parse('2026-11-27T12:00:00Z')),
  isValidPattern: (pattern) => !pattern.includes('(?='),
};
