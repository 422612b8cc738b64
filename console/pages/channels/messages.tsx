import { useSignal } from '@preact/signals';
import { h, type ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { api, type Schemas } from '../../client/api.ts';
import { Choices, SelectField } from '../../parts/choice-fields.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Loaded, useLoad } from '../../parts/load.tsx';
import { FactLine, JsonText } from '../../parts/object-page.tsx';
import { Card, Section, useWide } from '../../parts/page.tsx';
import { Badge } from '../../parts/status.tsx';
import { Sentences } from './rules-form.tsx';
import type { Channel } from './words.tsx';

type Message = Schemas['MessagePreview'];
type Kind = Message['kind'];

/** Label of each kind of message, and why a channel may not send it; by default because of the rules. */
const KINDS: Record<Kind, { label: string; off?: string }> = {
  down: { label: 'Down' },
  up: { label: 'Recovered' },
  degraded: { label: 'Degraded' },
  unknown: { label: 'Unknown' },
  reminder: { label: 'Reminder', off: 'no rule of this channel repeats alerts.' },
  behind: { label: 'With children' },
  group: { label: 'Grouped', off: 'this channel does not group alerts.' },
  summary: { label: 'Digest' },
  unstable: { label: 'Unstable', off: 'this channel does not summarize flapping.' },
  stable: { label: 'Stable again', off: 'this channel does not summarize flapping.' },
  expiry: { label: 'Expires soon' },
  agent_offline: { label: 'Agent offline' },
  agent_online: { label: 'Agent online' },
  channel_failing: { label: 'Channel failing' },
  channel_disconnected: { label: 'Chat unavailable' },
  report: { label: 'Report', off: 'reports are not sent to this channel.' },
  drill: { label: 'Drill' },
  drill_end: { label: 'Drill ended' },
  test: { label: 'Test' },
};

/** When a channel sends, and a sample of each message that it would send, as the service renders it. */
export function Messages({ channel }: { channel: Channel }) {
  const load = useLoad(
    (signal) => api.get('/channels/{id}/previews', { path: { id: channel.id }, signal }),
    [JSON.stringify(channel)],
  );
  return (
    <>
      <Section title="Rules" lead="Edit rules and test them on the last 30 days under Settings.">
        <Sentences channel={channel} />
      </Section>
      <Section title="Messages" lead="Samples, rendered as they are delivered. Secrets are shown as ***.">
        <Loaded load={load}>{({ previews }) => <Chooser channel={channel} previews={previews} />}</Loaded>
      </Section>
    </>
  );
}

function Chooser({ channel, previews }: { channel: Channel; previews: readonly Message[] }) {
  const kind = useSignal<string>(previews[0]?.kind ?? '');
  const isWide = useWide();
  const choices = previews.map((each) => ({ value: each.kind, label: KINDS[each.kind].label }));
  const shown = previews.find((each) => each.kind === kind.value) ?? previews[0];
  if (shown === undefined) return null;
  return (
    <div class="flex flex-col gap-4">
      {isWide ? (
        <Choices<string>
          label="Message"
          choices={choices}
          value={shown.kind}
          onValue={(value) => (kind.value = value)}
        />
      ) : (
        <SelectField
          label="Message"
          hideLabel
          options={choices}
          value={shown.kind}
          onValue={(value) => (kind.value = value)}
        />
      )}
      <Card>
        <div class="flex flex-col gap-4 text-sm" role="region" aria-label={KINDS[shown.kind].label}>
          {!shown.sent && (
            <p class="flex flex-wrap items-baseline gap-x-2">
              <Badge>Not sent</Badge>
              <span class="text-soft">Currently, {KINDS[shown.kind].off ?? 'no rule of this channel matches.'}</span>
            </p>
          )}
          {shown.problem !== null && (
            <p class="flex gap-2 text-down" role="alert">
              <Icon name="warning" class="mt-0.5 size-4" />
              <span class="min-w-0 wrap-anywhere">{shown.problem}</span>
            </p>
          )}
          <Content channel={channel} message={shown} />
        </div>
      </Card>
    </div>
  );
}

function Content({ channel: { type }, message: { email, requests } }: { channel: Channel; message: Message }) {
  if (email !== null) return <EmailShown email={email} />;
  if (type === 'webhook')
    return (
      <>
        {requests.map((request, index) => (
          <RequestShown key={index} request={request} />
        ))}
      </>
    );
  const [request] = requests;
  if (request === undefined) return null;
  return (
    <>
      {type === 'slack' && <SlackShown body={request.body} />}
      {type === 'telegram' && <TelegramShown body={request.body} />}
      <Fold title="Request">
        <RequestShown request={request} />
      </Fold>
    </>
  );
}

function EmailShown({ email: { to, subject, text, html, attachment } }: { email: NonNullable<Message['email']> }) {
  return (
    <>
      <dl class="grid gap-x-6 gap-y-1 md:grid-cols-[6rem_1fr]">
        <FactLine name="To">{to}</FactLine>
        <FactLine name="Subject">{subject}</FactLine>
        {attachment !== null && <FactLine name="Attachment">{attachment}</FactLine>}
      </dl>
      <SafeHtml html={html} label="Email HTML" class="rounded-md border border-line wrap-anywhere" />
      <Fold title="Plain text">
        <Plain text={text} label="Email plain text" />
      </Fold>
    </>
  );
}

/** The parts of a message to Slack that the service makes. */
type SlackBody = {
  blocks: readonly (
    | { type: 'header'; text: { text: string } }
    | {
        type: 'rich_text';
        elements: readonly {
          elements: readonly { type: 'text' | 'link'; text: string; style?: { bold: true } }[];
        }[];
      }
  )[];
};

function SlackShown({ body }: { body: string }) {
  const { blocks }: SlackBody = JSON.parse(body);
  return (
    <div class={CHAT} role="group" aria-label="Message in Slack">
      {blocks.map((block, index) =>
        block.type === 'header' ? (
          <p key={index} class="text-base font-bold">
            {block.text.text}
          </p>
        ) : (
          <p key={index} class="mt-2 whitespace-pre-wrap">
            {block.elements.flatMap(({ elements }) =>
              elements.map(({ type, text, style }, at) => (
                <span
                  key={at}
                  class={`${type === 'link' ? 'underline underline-offset-2' : ''} ${style?.bold ? 'font-bold' : ''}`}
                >
                  {text}
                </span>
              )),
            )}
          </p>
        ),
      )}
    </div>
  );
}

function TelegramShown({ body }: { body: string }) {
  const { text }: { text: string } = JSON.parse(body);
  return <SafeHtml html={text} label="Message in Telegram" class={`${CHAT} whitespace-pre-wrap`} />;
}

const CHAT = 'rounded-md border border-line bg-sunken px-4 py-3 wrap-anywhere';

function RequestShown({ request: { method, url, headers, body, cut } }: { request: Schemas['PreviewedRequest'] }) {
  const json = parse(body);
  return (
    <div class="flex min-w-0 flex-col gap-2">
      <p class="font-mono text-[0.8125rem] wrap-anywhere">
        {method} {url}
      </p>
      {json === null ? <Plain text={body} label="Body" /> : <JsonText value={json} label="Body" />}
      {cut && <p class="text-soft">First {body.length} characters only.</p>}
      <Fold title="Headers">
        <Plain
          text={Object.entries(headers)
            .map(([name, value]) => `${name}: ${value}`)
            .join('\n')}
          label="Headers"
        />
      </Fold>
    </div>
  );
}

/** Returns the object or list of a JSON text; null if there is none. */
function parse(body: string): object | null {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' ? value : null;
  } catch {
    return null;
  }
}

function Plain({ text, label }: { text: string; label: string }) {
  return (
    <pre
      tabIndex={0}
      role="group"
      aria-label={label}
      class="
        max-h-96 overflow-auto whitespace-pre-wrap rounded-md border border-line bg-sunken px-3 py-2 font-mono text-xs
        leading-5 wrap-anywhere
      "
    >
      {text}
    </pre>
  );
}

function Fold({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <details>
      <summary class="heading text-sm">{title}</summary>
      <div class="mt-2">{children}</div>
    </details>
  );
}

/**
 * Elements of messages, and their replacements: a heading would belong to the page's outline, a link would lead
 * nowhere.
 */
const SHOWN_AS: Readonly<Record<string, string>> = {
  a: 'span',
  b: 'b',
  div: 'div',
  h1: 'div',
  p: 'p',
  table: 'table',
  tbody: 'tbody',
  td: 'td',
  th: 'th',
  tr: 'tr',
};

/**
 * Shows the HTML of a message as elements of the page: known elements with their styles, and the text of all others.
 * Nothing in it is loaded, followed or run.
 */
function SafeHtml({ html, label, class: extra = '' }: { html: string; label: string; class?: string }) {
  const body = useMemo(() => {
    // The page's policy refuses styles in HTML, even in a document that is not shown; it allows them from scripts.
    const parsed = new DOMParser().parseFromString(html.replaceAll(' style="', ' data-style="'), 'text/html');
    return { style: styleOf(parsed.body), children: childrenOf(parsed.body) };
  }, [html]);
  return h(
    'div',
    { class: `overflow-x-auto ${extra}`, style: body.style, role: 'group', 'aria-label': label, tabIndex: 0 },
    body.children,
  );
}

/** Default styles of mail programs, which the page's styles remove. */
const STYLES: Readonly<Record<string, string>> = {
  a: 'underline underline-offset-2',
  h1: 'font-bold',
  p: 'my-[1em]',
};

function childrenOf(element: Element): ComponentChildren[] {
  return [...element.childNodes].map((node) => {
    if (node instanceof Element) return elementOf(node);
    return node.nodeType === Node.TEXT_NODE ? node.textContent : null;
  });
}

function elementOf(element: Element): ComponentChildren {
  const shownAs = SHOWN_AS[element.localName];
  if (shownAs === undefined) return childrenOf(element);
  return h(
    shownAs,
    {
      class: STYLES[element.localName] ?? '',
      style: styleOf(element),
      ...(element.getAttribute('role') === 'presentation' && { role: 'presentation' }),
      ...(element.localName === 'a' && { title: element.getAttribute('href') ?? '' }),
    },
    childrenOf(element),
  );
}

function styleOf(element: Element): string {
  return element.getAttribute('data-style') ?? '';
}
