import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { FieldTexts } from '../../client/answer.ts';
import { api, type Schemas } from '../../client/api.ts';
import { SECRET_PLACEHOLDER } from '../../client/curl.ts';
import { canWrite, signedIn, useDraft } from '../../client/session-state.ts';
import { useJudgedForm } from '../../parts/action.tsx';
import { Button, ButtonLink } from '../../parts/button.tsx';
import { CheckField, ZoneField } from '../../parts/choice-fields.tsx';
import { CurlButton, ShownOnce } from '../../parts/copy.tsx';
import { useUnsaved } from '../../parts/dialog.tsx';
import { Form, FormError, TextField } from '../../parts/field.tsx';
import { ViewOnly } from '../../parts/object-page.tsx';
import { Card, Empty, Page, useArrival, useWide } from '../../parts/page.tsx';
import { timeZone } from '../../parts/time.tsx';
import { PATHS, type PageProps } from '../../paths.ts';
import { setQuery } from '../../shell/router.ts';
import { CHANNEL_TEXTS, SigningSecret } from './channel-settings.tsx';
import { AddressField, ConnectChat, judgeAddress } from './channel.tsx';
import { Routing, judgeRoute, routeBody, type Route } from './monitor-choice.tsx';
import {
  WEBHOOK_TEXTS,
  WebhookFields,
  formatDraftOf,
  judgeWebhook,
  sentFormat,
  sentHeaders,
  type WebhookDraft,
} from './webhook-form.tsx';
import { FOLLOWS, TYPES, reportsHint, testAlert, type ChannelType } from './words.tsx';

/** The order in which types are offered: webhooks need nothing from the operator. */
const TYPE_ORDER: readonly ChannelType[] = ['webhook', 'telegram', 'slack', 'email'];

/** Chooses the type of a channel, which is part of the address. */
function TypeChoice({ type }: { type: ChannelType }) {
  return (
    <fieldset class="mb-5 grid gap-2 sm:grid-cols-2">
      <legend class="sr-only">Type</legend>
      {TYPE_ORDER.map((each) => (
        <label
          key={each}
          class={
            'flex gap-2.5 rounded-xl border p-3 hover:bg-hover focus-within:outline-2 focus-within:outline-focus ' +
            `${each === type ? 'border-accent bg-accent-tint' : 'border-line bg-surface'}`
          }
        >
          <input
            type="radio"
            name="type"
            checked={each === type}
            onChange={() => setQuery({ type: each })}
            class="mt-0.5 size-[1.125rem] shrink-0 accent-accent"
          />
          <span class="text-sm font-medium">
            {TYPES[each].label}
            <span class="block text-[0.8125rem] font-normal text-soft">{TYPES[each].text}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}

type Created = Schemas['ChannelCreateResult'];

const BACK = { label: 'Channels', href: PATHS.channels };

/** The page that creates a channel, and shows its secret or its link once. */
export function ChannelNewPage({ query }: PageProps) {
  const created = useSignal<{ type: ChannelType; name: string; result: Created } | null>(null);
  const type = TYPE_ORDER.find((each) => each === query['type']) ?? 'webhook';
  const needed = type === 'webhook' || signedIn().chats[type] ? null : type;
  const box = useRef<HTMLDivElement>(null);
  const isWide = useWide();
  // On a phone the keyboard would cover the choice of types.
  useEffect(() => {
    if (isWide) box.current?.querySelector<HTMLInputElement>('input[name="url"]')?.focus();
  }, []);
  if (!canWrite()) return <ViewOnly title="New channel" back={BACK} icon="channels" who="create channels" />;
  if (created.value !== null) return <CreatedChannel {...created.value} />;
  return (
    <Page title="New channel" back={BACK}>
      <div class="max-w-2xl" ref={box}>
        <TypeChoice type={type} />
        {/* If a type cannot be chosen, its input is kept for another one. */}
        <div hidden={needed !== null}>
          <ChannelForm type={type} onCreated={(name, result) => (created.value = { type, name, result })} />
        </div>
        {needed !== null && <NotSetUp type={needed} />}
      </div>
    </Page>
  );
}

/** Settings that the operator needs before a chat can be connected. */
const NEEDED: Record<Exclude<ChannelType, 'webhook'>, string> = {
  telegram: 'TELEGRAM_BOT_TOKEN and TELEGRAM_BOT_NAME',
  slack: 'SLACK_CLIENT_ID and SLACK_CLIENT_SECRET',
  email: 'SMTP_URL and MAIL_FROM',
};

function NotSetUp({ type }: { type: Exclude<ChannelType, 'webhook'> }) {
  return (
    <Empty
      icon="channels"
      title={`${TYPES[type].label} isn’t configured`}
      action={<ButtonLink href={`${PATHS.channelNew}?type=webhook`}>Use a webhook</ButtonLink>}
    >
      Ask your administrator to set {NEEDED[type]}.
    </Empty>
  );
}

const EVERYTHING: Route = { all: true, ids: [], tags: '', needsAllTags: false };
const NEW_WEBHOOK: WebhookDraft = { url: '', headers: [], format: formatDraftOf({}) };
/** Input of an unchanged form: name, address, webhook, monitors, reports and maintenance. */
const UNTOUCHED = JSON.stringify(['', '', NEW_WEBHOOK, EVERYTHING, false, false]);

const NEW_CHANNEL_TEXTS: FieldTexts = {
  ...WEBHOOK_TEXTS,
  ...CHANNEL_TEXTS,
  address: 'Enter one address, like oncall@example.com',
};

function ChannelForm({ type, onCreated }: { type: ChannelType; onCreated: (name: string, result: Created) => void }) {
  const name = useDraft('new channel name', '');
  // Not a draft, because it contains secrets of the receiver.
  const webhook = useSignal<WebhookDraft>(NEW_WEBHOOK);
  const address = useDraft('new channel address', '');
  const route = useDraft<Route>('new channel routing', EVERYTHING);
  const reports = useDraft('new channel reports', false);
  const zone = useDraft('new channel report zone', timeZone.value);
  const isFollowing = useDraft('new channel maintenance', false);
  const form = useJudgedForm(NEW_CHANNEL_TEXTS);
  useUnsaved(
    () =>
      JSON.stringify([
        name.value.trim(),
        address.value.trim(),
        webhook.value,
        route.value,
        reports.value,
        isFollowing.value,
      ]) !== UNTOUCHED,
    form.isBusy.value,
  );
  const isWebhook = type === 'webhook';
  const isEmail = type === 'email';
  // An error of another type does not apply; the input stays.
  useEffect(() => form.clear(), [type]);
  const body = (headers: Record<string, string>) => ({
    type,
    ...(name.value.trim() !== '' && { name: name.value.trim() }),
    ...routeBody(route.value),
    ...(isEmail && { address: address.value.trim(), ...(reports.value && { report_timezone: zone.value }) }),
    ...(isWebhook
      ? {
          url: webhook.value.url.trim(),
          ...(isFollowing.value && { follows_maintenance: true }),
          ...(Object.keys(headers).length > 0 && { headers }),
          ...(webhook.value.format.choice !== 'signed' && sentFormat(webhook.value.format)),
        }
      : { reports: reports.value }),
  });
  const judged = () => ({
    ...(isWebhook && judgeWebhook(webhook.value, true)),
    ...(isEmail && { address: judgeAddress(address.value) }),
    ...judgeRoute(route.value),
  });
  const create = () =>
    form.submit(judged(), async () => {
      const result = await api.post('/channels', {
        body: body(sentHeaders(webhook.value.headers)),
        creates: 'channel',
      });
      if (isWebhook) testAlert.set();
      onCreated(name.value.trim() === '' ? TYPES[type].label : name.value.trim(), result);
    });
  const hidden = () =>
    Object.fromEntries(Object.keys(sentHeaders(webhook.value.headers)).map((header) => [header, SECRET_PLACEHOLDER]));
  return (
    <Card>
      <Form class="flex flex-col gap-5" onSubmit={create}>
        {isWebhook && (
          <WebhookFields
            webhook={webhook.value}
            onWebhook={(value) => (webhook.value = value)}
            problem={form.problem}
            storedHost={null}
          />
        )}
        {isEmail && (
          <AddressField
            address={address.value}
            onAddress={(value) => (address.value = value)}
            error={form.problem('address')}
          />
        )}
        <TextField
          label="Name"
          placeholder={TYPES[type].label}
          maxLength={255}
          value={name.value}
          onValue={(value) => (name.value = value)}
          error={form.problem('name')}
          hint="Shown in lists and logs, like “On call”."
        />
        <Routing
          route={route.value}
          onRoute={(value) => (route.value = value)}
          error={form.problem('monitor_ids')}
          tagError={form.problem('monitor_tags')}
        />
        {isWebhook && (
          <CheckField
            label={FOLLOWS.label}
            hint={FOLLOWS.hint}
            checked={isFollowing.value}
            onChecked={(value) => (isFollowing.value = value)}
          />
        )}
        {!isWebhook && (
          <CheckField
            label="Send reports"
            hint={reportsHint(type)}
            checked={reports.value}
            onChecked={(value) => (reports.value = value)}
            error={form.problem('reports') ?? null}
          />
        )}
        {isEmail && reports.value && (
          <ZoneField
            value={zone.value}
            onValue={(value) => (zone.value = value)}
            error={form.problem('report_timezone')}
            hint="Weeks and months begin at midnight there."
          />
        )}
        <FormError text={form.rest} />
        <div class="flex flex-wrap items-center gap-3">
          <Button type="submit" tone="primary" busy={form.isBusy.value}>
            {isWebhook ? 'Test and save' : isEmail ? 'Create and send confirmation' : 'Create and connect'}
          </Button>
          {form.isBusy.value && isWebhook && (
            <span class="late text-sm text-soft" role="status">
              Sending test…
            </span>
          )}
          <CurlButton
            request={() => ({
              method: 'POST',
              path: '/channels',
              body: { ...body(hidden()), ...(isWebhook && { url: SECRET_PLACEHOLDER }) },
            })}
          />
        </div>
      </Form>
    </Card>
  );
}

function CreatedChannel({ type, name, result }: { type: ChannelType; name: string; result: Created }) {
  useArrival();
  if (type !== 'webhook') {
    return (
      <Page title={name} back={BACK}>
        <ConnectChat id={result.id} type={type} links={result} />
      </Page>
    );
  }
  return (
    <Page title={`${name} is connected`} back={BACK} lead="Test alert delivered.">
      <ShownOnce
        question="Saved the secret?"
        text="It’s shown only once. If you lose it, rotate it."
        href={`/channels/${result.id}`}
      >
        {result.signing_secret !== undefined && <SigningSecret secret={result.signing_secret} />}
      </ShownOnce>
    </Page>
  );
}
