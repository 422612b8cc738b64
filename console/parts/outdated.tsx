import { sentenceOf } from '../client/failure.ts';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';
import type { Load } from './load.tsx';

/** Says that what is shown could not be asked for anew; nothing while it could, or where nothing is shown yet. */
export function Outdated({ load }: { load: Pick<Load<unknown>, 'value' | 'error' | 'isBusy' | 'reload'> }) {
  if (load.error.value === null || load.value.value === null) return null;
  return (
    <div
      role="alert"
      class="
        mb-4 flex flex-wrap items-center gap-x-3 gap-y-2 rounded-md bg-degraded-tint px-3 py-2 text-sm text-degraded
      "
    >
      <span class="flex min-w-0 flex-1 basis-60 gap-2">
        <Icon name="warning" class="mt-0.5 size-4" />
        <span>What is shown is not up to date. {sentenceOf(load.error.value)}.</span>
      </span>
      <Button size="small" icon="retry" busy={load.isBusy.value} onClick={() => void load.reload()}>
        Try again
      </Button>
    </div>
  );
}
