import type { WithHarness } from '../test/helpers/harness.ts';
import type { Report } from './report.ts';

/** One benchmark. It prints figures and never fails for them; `isQuick` trades accuracy for time. */
export type Benchmark = (context: BenchContext) => Promise<void>;

export type BenchContext = { isQuick: boolean; report: Report; withHarness: WithHarness };
