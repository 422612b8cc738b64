import type { WithHarness } from './harness/harness.ts';
import type { Report } from './report.ts';

/** One benchmark: prints figures, never fails for them. `isQuick` trades exactness for time. */
export type Benchmark = (context: BenchContext) => Promise<void>;

export type BenchContext = { isQuick: boolean; report: Report; withHarness: WithHarness };
