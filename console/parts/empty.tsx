import type { ComponentChildren } from 'preact';
import { ButtonLink } from './button.tsx';
import { Icon, type IconName } from './icon.tsx';
import { Page } from './page.tsx';

/** What stands where nothing is yet: what would be here, and the way there. */
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

type EmptyPageProps = {
  title: string;
  back: { label: string; href: string };
  icon: IconName;
  heading: string;
  children: ComponentChildren;
};

/** A page that cannot show what it is for: why, and the way to the list that it belongs to. */
export function EmptyPage({ title, back, icon, heading, children }: EmptyPageProps) {
  return (
    <Page title={title} back={back}>
      <Empty
        icon={icon}
        title={heading}
        action={<ButtonLink href={back.href}>All {back.label.toLowerCase()}</ButtonLink>}
      >
        {children}
      </Empty>
    </Page>
  );
}

/** A page that only those see who may change things; `who` says what they do there. */
export function ViewOnly({ who, ...page }: Omit<EmptyPageProps, 'heading' | 'children'> & { who: string }) {
  return (
    <EmptyPage {...page} heading="View only">
      Owners and editors of the account {who}.
    </EmptyPage>
  );
}
