import type { Report } from '../../models/reports.ts';
import type { components } from '../schema.generated.ts';

type WireReport = components['schemas']['Report'];

/** A report as it is shown (D-62); its content is stored in its wire form, because a report never changes once it is made. */
export function presentReport({ id, period, periodStart, periodEnd, createdAt, content }: Report): WireReport {
  const { summary, monitors } = content as Pick<WireReport, 'summary' | 'monitors'>;
  return { id, period, period_start: periodStart, period_end: periodEnd, created_at: createdAt, summary, monitors };
}
