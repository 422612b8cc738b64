import { signal } from '@preact/signals';
import { IconButton } from './button.tsx';
import { Icon } from './icon.tsx';

type Toast = { id: number; text: string; tone: 'good' | 'bad' };

const toasts = signal<readonly Toast[]>([]);
const counter = { last: 0 };

/** How long a success is shown, in milliseconds; errors stay until they are closed. */
const STAY_MS = 5000;

/** Shows a message at the edge of the page, which screen readers announce. */
export function toast(text: string, tone: Toast['tone'] = 'good'): void {
  counter.last += 1;
  const id = counter.last;
  toasts.value = [...toasts.value.slice(-3), { id, text, tone }];
  if (tone === 'good') setTimeout(() => dismiss(id), STAY_MS);
}

function dismiss(id: number): void {
  toasts.value = toasts.value.filter((each) => each.id !== id);
}

/** The shown toasts; the layout renders them once. */
export function Toasts() {
  return (
    <div
      class="
        pointer-events-none fixed inset-x-0 bottom-[calc(4.5rem+env(safe-area-inset-bottom))] z-50 flex flex-col
        items-center gap-2 px-3 md:bottom-5 print:hidden
      "
      aria-live="polite"
    >
      {toasts.value.map(({ id, text, tone }) => (
        <div
          key={id}
          role={tone === 'bad' ? 'alert' : undefined}
          class="
            pointer-events-auto flex max-w-md items-center gap-2.5 rounded-lg border border-line bg-raised py-1 pl-3.5
            pr-1 text-sm shadow-lg
          "
        >
          <Icon
            name={tone === 'bad' ? 'warning' : 'check'}
            class={`size-4 ${tone === 'bad' ? 'text-down' : 'text-up'}`}
          />
          <span class="py-1.5">{text}</span>
          <IconButton icon="close" label="Dismiss" onClick={() => dismiss(id)} />
        </div>
      ))}
    </div>
  );
}
