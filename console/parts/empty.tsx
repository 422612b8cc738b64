import type { ComponentChildren } from 'preact';
import { Icon, type IconName } from './icon.tsx';

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
      <h2 class="heading text-lg">{title}</h2>
      <div class="mt-1 text-sm text-soft text-pretty">{children}</div>
      {action !== undefined && <div class="mt-5 flex flex-wrap justify-center gap-2">{action}</div>}
    </div>
  );
}
