import type { Schemas } from '../../client/api.ts';
import { formatLatency } from '../../parts/time.tsx';

type PhasesMs = Schemas['PhasesMs'];

/** In the order in which they happen. */
const STEPS: readonly [name: keyof PhasesMs, label: string][] = [
  ['dns_ms', 'Name look-up'],
  ['connect_ms', 'Connection'],
  ['tls_ms', 'TLS'],
  ['first_byte_ms', 'First byte'],
  ['download_ms', 'Download'],
];

/** How long each step of an exchange took, one after another; steps that did not happen are left out. */
export function Phases({ phases }: { phases: PhasesMs }) {
  const taken: { label: string; ms: number; before: number }[] = [];
  let total = 0;
  for (const [name, label] of STEPS) {
    const ms = phases[name];
    if (ms === null) continue;
    taken.push({ label, ms, before: total });
    total += ms;
  }
  if (taken.length === 0) return null;
  const share = (ms: number) => `${total === 0 ? 0 : (ms / total) * 100}%`;
  return (
    <dl class="mt-3 grid grid-cols-[auto_minmax(0,1fr)_auto] items-center gap-x-3 gap-y-1 text-xs">
      {taken.map(({ label, ms, before }) => (
        <div key={label} class="contents">
          <dt class="text-soft">{label}</dt>
          <dd class="contents">
            <span class="relative h-2 overflow-hidden rounded-full bg-sunken" aria-hidden="true">
              <span class="absolute inset-y-0 min-w-0.5 rounded-full bg-accent" style={{ left: share(before), width: share(ms) }} />
            </span>
            <span class="text-right">{formatLatency(ms)}</span>
          </dd>
        </div>
      ))}
    </dl>
  );
}
