import { traceOf, type TracedCheck, type TraceIds } from '../../core/checks/trace-context.ts';
import { fingerprintOf } from '../secrets/secret-box.ts';

/** The ids of the trace of one check, which follow from the check (D-607). */
export function traceIdsOf(check: TracedCheck): TraceIds {
  return traceOf(check, (text) => fingerprintOf(text).toString('hex'));
}
