import { signal } from '@preact/signals';
import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useLayoutEffect } from 'preact/hooks';
import { Icon, type IconName } from './icon.tsx';

type PageProps = {
  title: string;
  /** A link above the title. */
  back?: { label: string; href: string };
  /** Buttons beside the title. */
  actions?: ComponentChildren;
  /** A sentence below the title. */
  lead?: ComponentChildren;
  /** Uses the width of a large screen, for pages with several columns. */
  isWide?: boolean;
  children: ComponentChildren;
};

/** The frame of a page: title, document title and width. */
export function Page({ title, back, actions, lead, isWide = false, children }: PageProps) {
  useTitle(title);
  const width = isWide ? 'max-w-[110rem]' : 'max-w-5xl 2xl:max-w-7xl';
  return (
    <div class={`${width} w-full px-4 pb-24 pt-5 md:px-8 md:pb-16 md:pt-8`}>
      {back !== undefined && (
        <a
          href={back.href}
          class="
            -ml-1 mb-1 inline-flex max-w-full items-center gap-0.5 rounded text-[0.8125rem] text-soft hover:text-ink
            print:hidden
          "
        >
          <Icon name="back" class="size-4" />
          <span class="clipped">{back.label}</span>
        </a>
      )}
      <div class="flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
        <div class="min-w-0">
          <h1 class="heading break-words text-xl md:text-2xl">{title}</h1>
          {lead !== undefined && <div class="mt-0.5 text-sm text-soft">{lead}</div>}
        </div>
        {actions !== undefined && <div class="flex flex-wrap gap-2 print:hidden">{actions}</div>}
      </div>
      <div class="mt-5 md:mt-6">{children}</div>
    </div>
  );
}

/** A section of a page with a heading. */
export function Section({
  title,
  lead,
  actions,
  children,
}: {
  title: string;
  lead?: ComponentChildren;
  actions?: ComponentChildren;
  children: ComponentChildren;
}) {
  return (
    <section class="mb-8">
      <div class="mb-2.5 flex flex-wrap items-end justify-between gap-x-4 gap-y-2">
        <div>
          <h2 class="heading text-base">{title}</h2>
          {lead !== undefined && <div class="text-sm text-soft">{lead}</div>}
        </div>
        {actions}
      </div>
      {children}
    </section>
  );
}

/** A raised surface. */
export function Card({ children, class: className = 'p-4 md:p-5' }: { children: ComponentChildren; class?: string }) {
  return <div class={`rounded-xl border border-line bg-surface ${className}`}>{children}</div>;
}

/**
 * Scrolls to the top and focuses the heading, for content that replaces a form on the same page. `own` is a heading of
 * the content that is more specific than the page's.
 */
export function useArrival(own?: RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    const main = document.querySelector('main');
    const heading = own?.current ?? main?.querySelector<HTMLElement>('h1');
    main?.scrollTo({ top: 0 });
    if (!heading) return;
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
  }, []);
}

/** Sets the title of the browser's tab. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Spotcheck`;
  }, [title]);
}

/** Tailwind's `md` breakpoint. */
const query = window.matchMedia('(width >= 48rem)');
const isWide = signal(query.matches);
query.addEventListener('change', () => {
  isWide.value = query.matches;
});

/** Reports whether the screen is wider than a phone's; follows changes. */
export function useWide(): boolean {
  return isWide.value;
}

const printing = signal(false);
window.addEventListener('beforeprint', () => {
  printing.value = true;
});
window.addEventListener('afterprint', () => {
  printing.value = false;
});

/** Reports whether the page is being printed: then lists have all their rows and plots the colors of paper. */
export function usePrinting(): boolean {
  return printing.value;
}

/** A placeholder for an empty list: what it would show, and how to begin. */
export function Empty({
  icon,
  title,
  children,
  action,
}: {
  icon: IconName;
  title: string;
  children: ComponentChildren;
  action?: ComponentChildren;
}) {
  return (
    <div class="mx-auto flex max-w-md flex-col items-center px-6 py-16 text-center">
      <span class="mb-4 grid size-12 place-items-center rounded-full bg-accent-tint text-accent">
        <Icon name={icon} class="size-6" />
      </span>
      <h2 class="heading max-w-full text-lg">{title}</h2>
      <div class="mt-1 max-w-full text-sm text-soft text-pretty">{children}</div>
      {action !== undefined && <div class="mt-5 flex flex-wrap justify-center gap-2">{action}</div>}
    </div>
  );
}
