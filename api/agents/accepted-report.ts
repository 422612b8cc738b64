import type { Report } from '../../core/agent/read-ingest.ts';
import type { ReportedMonitor } from '../../models/agent-results.ts';
import type { ResultPayload } from '../../queues/payloads.ts';

/** One accepted result: what was reported, of which monitor, and what becomes of it. */
export type AcceptedReport = { report: Report; monitor: ReportedMonitor; result: ResultPayload };
