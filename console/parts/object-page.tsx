import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { Failure } from '../client/answer.ts';
import type { Schemas } from '../client/api.ts';
import { signedIn } from '../client/session-state.ts';
import { ButtonLink } from './button.tsx';
import type { IconName } from './icon.tsx';
import { Loaded, type Load } from './load.tsx';
import { Empty, Page } from './page.tsx';

type ObjectPageProps<T> = {
  load: Load<T>;
  /** Kind of the object, such as `Channel`; the title until its name is loaded. */
  title: string;
  icon: IconName;
  back: { label: string; href: string };
  /** Why there may be none at this address. */
  missing: string;
  children: (value: T) => ComponentChildren;
};

/** The page of one object: a skeleton until it is loaded, and a way back to the list when there is none. */
export function ObjectPage<T>({ load, title, icon, back, missing, children }: ObjectPageProps<T>) {
  const { value: error } = load.error;
  const { value } = load.value;
  if (error instanceof Failure && error.status === 404) {
    return (
      <EmptyPage title={title} back={back} icon={icon} heading={`${title} not found`}>
        {missing}
      </EmptyPage>
    );
  }
  if (value !== null) return <>{children(value)}</>;
  return (
    <Page title={title} back={back}>
      <Loaded load={load} height="h-96">
        {() => null}
      </Loaded>
    </Page>
  );
}

type EmptyPageProps = {
  title: string;
  back: { label: string; href: string };
  icon: IconName;
  heading: string;
  children: ComponentChildren;
};

/** A page without content: the reason, and a link to the list. */
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

/** A page for roles that may not change anything; `who` describes what others can do there. */
export function ViewOnly({ who, ...page }: Omit<EmptyPageProps, 'heading' | 'children'> & { who: string }) {
  return (
    <EmptyPage {...page} heading="View only">
      Only owners and editors can {who}.
    </EmptyPage>
  );
}

type ChangesLinkProps = { kind: Schemas['AuditObjectKind']; id: string };

/** A link for owners to the audit log's entries about one object; other roles may not read that log. */
export function ChangesLink({ kind, id }: ChangesLinkProps) {
  if (signedIn().user.role !== 'owner') return null;
  return (
    <ButtonLink size="small" href={`/settings/audit-log?kind=${kind}&object=${id}`}>
      History
    </ButtonLink>
  );
}

/** A labeled value, with the label above it. */
export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div class="min-w-0">
      <dt class="text-xs text-soft">{name}</dt>
      <dd class="break-words">{children}</dd>
    </div>
  );
}

/** A labeled value as a row of a two-column list; on a phone the label is above it. */
export function FactLine({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <>
      <dt class="text-soft max-md:mt-1 max-md:text-xs">{name}</dt>
      <dd class="min-w-0 whitespace-pre-line break-words">{children}</dd>
    </>
  );
}

type FigureProps = { label: string; tone?: string; note?: string; children: ComponentChildren };

/** A large number with its label above it and, optionally, a note below. */
export function Figure({ label, tone = '', note, children }: FigureProps) {
  return (
    <div>
      <dt class="text-xs text-soft">{label}</dt>
      <dd class={`heading ${note === undefined ? 'text-xl' : 'text-lg leading-6'} ${tone}`}>{children}</dd>
      {note !== undefined && <dd class="text-xs text-soft">{note}</dd>}
    </div>
  );
}

/** Text for machines, such as a header or a path. */
export function Code({ children }: { children: ComponentChildren }) {
  return <code class="break-all font-mono text-[0.8125rem]">{children}</code>;
}

/** Tokens of indented JSON: a key with its colon, a text, a number, a word. Everything else is punctuation. */
const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|-?\d[\d.eE+-]*|\b(?:true|false|null)\b/g;

/** Most characters of JSON that are shown in colors: each token is an element of its own. */
const MAX_COLORED = 50_000;

type Token = { text: string; color: string };

/** JSON in a scrolling box, with keys, texts and numbers in different colors. */
export function JsonText({ value, label, class: extra = '' }: { value: unknown; label: string; class?: string }) {
  const text = useMemo(() => JSON.stringify(value, null, 2) ?? '', [value]);
  const tokens = useMemo(() => tokensOf(text), [text]);
  return (
    <pre
      tabIndex={0}
      role="group"
      aria-label={label}
      class={`overflow-auto rounded-md border border-line bg-sunken px-3 py-2 font-mono text-xs leading-5 ${extra}`}
    >
      {tokens.map(({ text: part, color }, index) =>
        color === '' ? (
          part
        ) : (
          <span key={index} class={color}>
            {part}
          </span>
        ),
      )}
    </pre>
  );
}

function tokensOf(text: string): Token[] {
  if (text.length > MAX_COLORED) return [{ text, color: '' }];
  const tokens: Token[] = [];
  let end = 0;
  for (const match of text.matchAll(TOKEN)) {
    const [whole, quoted, colon] = match;
    const shown = quoted ?? whole;
    if (match.index > end) tokens.push({ text: text.slice(end, match.index), color: '' });
    tokens.push({ text: shown, color: colorOf(quoted, colon) });
    end = match.index + shown.length;
  }
  return end < text.length ? [...tokens, { text: text.slice(end), color: '' }] : tokens;
}

function colorOf(quoted: string | undefined, colon: string | undefined): string {
  if (colon !== undefined) return 'text-accent';
  return quoted === undefined ? 'text-degraded' : 'text-up';
}
