import type { ComponentChildren } from 'preact';
import { Logo } from '../parts/icon.tsx';

/** The frame of pages for users without a session. */
export function OpenFrame({
  title,
  lead,
  children,
}: {
  title: string;
  lead?: ComponentChildren | undefined;
  children: ComponentChildren;
}) {
  return (
    // Aligned to the top: centered content would move when an error appears below it.
    <main class="grid h-full content-start justify-items-center overflow-y-auto px-4 pb-8 pt-[max(2rem,16vh)]">
      <div class="w-full max-w-[22rem]">
        <div class="mb-7 flex items-center gap-2.5">
          <Logo class="size-8" />
          <span class="heading text-lg">Spotcheck</span>
        </div>
        <h1 class="heading break-words text-2xl">{title}</h1>
        {lead !== undefined && <p class="mt-1 break-words text-sm text-soft text-pretty">{lead}</p>}
        <div class="mt-5">{children}</div>
      </div>
    </main>
  );
}
