import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { Icon } from '../parts/icon.tsx';

/**
 * What most people do not need, behind its title; `note` says what is set in there, and what is set when it appears
 * opens it.
 */
export function Fold({
  title,
  note,
  isOpen = false,
  children,
}: {
  title: string;
  note: string;
  isOpen?: boolean;
  children: ComponentChildren;
}) {
  const isOpenAtFirst = useMemo(() => isOpen, []);
  return (
    <details open={isOpenAtFirst} class="group border-t border-line last:border-b">
      <summary class="flex list-none items-center gap-2 rounded py-3 text-sm [&::-webkit-details-marker]:hidden">
        <Icon name="chevron" class="size-4 text-soft transition-transform group-open:rotate-90" />
        <span class="font-medium">{title}</span>
        <span class="clipped ml-auto min-w-0 pl-3 text-[0.8125rem] text-soft">{note}</span>
      </summary>
      <div class="flex flex-col gap-5 pb-6 pl-0 md:pl-6">{children}</div>
    </details>
  );
}
