import type { ComponentChildren } from 'preact';
import { ButtonLink } from './button.tsx';
import { Empty } from './empty.tsx';
import type { IconName } from './icon.tsx';
import { Page } from './page.tsx';

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
