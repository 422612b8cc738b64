import { useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect } from 'preact/hooks';
import { api } from '../../client/api.ts';
import { Failure, problemsByField, sentenceOf } from '../../client/failure.ts';
import { canWrite, signedIn } from '../../client/session-state.ts';
import type { Schemas } from '../../client/shapes.ts';
import { useFormAction } from '../../parts/action.ts';
import { Button, ButtonLink } from '../../parts/button.tsx';
import { CheckField } from '../../parts/choice-fields.tsx';
import { useDraft } from '../../parts/draft.ts';
import { Empty } from '../../parts/empty.tsx';
import { TextField, FormError, Form } from '../../parts/field.tsx';
import { ViewOnly } from '../../parts/object-page.tsx';
import { Card, Page } from '../../parts/page.tsx';
import { ShownOnce } from '../../parts/shown-once.tsx';
import { type PageProps, PATHS } from '../../paths.ts';
import { setQuery } from '../../shell/router.ts';
import { ConnectChat } from './connect.tsx';
import { Routing, type Route } from './monitor-choice.tsx';
import { SigningSecret } from './signing-secret.tsx';
import { TYPES, type ChannelType } from './words.tsx';

/** The order in which types are offered: webhooks need nothing from the operator. */
const TYPE_ORDER: readonly ChannelType[] = ['webhook', 'telegram', 'slack'];

/** Chooses the type of a channel; the address stores it. */
function TypeChoice({ type }: { type: ChannelType }) {
  return (
    <fieldset class="mb-5 grid gap-2 sm:grid-cols-3">
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
const FIELDS = ['name', 'url', 'all_monitors', 'monitor_ids', 'reports'];

/** The page that creates a channel, and shows its secret or its link once. */
export function ChannelNewPage({ query }: PageProps) {
  const created = useSignal<{ type: ChannelType; name: string; result: Created } | null>(null);
  const type = TYPE_ORDER.find((each) => each === query['type']) ?? 'webhook';
  if (!canWrite()) return <ViewOnly title="New channel" back={BACK} icon="channels" who="make channels" />;
  if (created.value !== null) return <Made {...created.value} />;
  return (
    <Page title="New channel" back={BACK}>
      <div class="max-w-2xl">
        <TypeChoice type={type} />
        {type === 'webhook' || signedIn().chats[type] ? (
          <ChannelForm type={type} onCreated={(name, result) => (created.value = { type, name, result })} />
        ) : (
          <NotSetUp type={type} />
        )}
      </div>
    </Page>
  );
}

/** What the operator has to set up before a chat can be connected. */
const NEEDED: Record<Exclude<ChannelType, 'webhook'>, { what: string; variables: string }> = {
  telegram: { what: 'a bot', variables: 'TELEGRAM_BOT_TOKEN and TELEGRAM_BOT_NAME' },
  slack: { what: 'an app', variables: 'SLACK_CLIENT_ID and SLACK_CLIENT_SECRET' },
};

function NotSetUp({ type }: { type: Exclude<ChannelType, 'webhook'> }) {
  const { what, variables } = NEEDED[type];
  return (
    <Empty
      icon="channels"
      title={`${TYPES[type].label} is not set up here`}
      action={<ButtonLink href={`${PATHS.channelNew}?type=webhook`}>Use a webhook</ButtonLink>}
    >
      The operator of this installation has to make {what} for it first, and set {variables}.
    </Empty>
  );
}

const EVERYTHING: Route = { all: true, ids: [] };

function ChannelForm({ type, onCreated }: { type: ChannelType; onCreated: (name: string, result: Created) => void }) {
  const name = useDraft('new channel name', '');
  // A secret of its receiver, so that no draft keeps it.
  const url = useSignal('');
  const route = useDraft<Route>('new channel route', EVERYTHING);
  const reports = useDraft('new channel reports', false);
  const { isBusy, error, run } = useFormAction();
  const isWebhook = type === 'webhook';
  // An error of another type does not apply; the input stays.
  useEffect(() => {
    error.value = null;
  }, [type]);
  const create = () =>
    run(async () => {
      const result = await api.post('/channels', {
        body: {
          type,
          ...(name.value.trim() !== '' && { name: name.value }),
          all_monitors: route.value.all,
          ...(!route.value.all && { monitor_ids: [...route.value.ids] }),
          ...(isWebhook ? { url: url.value.trim() } : { reports: reports.value }),
        },
      });
      onCreated(name.value.trim() === '' ? TYPES[type].label : name.value.trim(), result);
    });
  const { byField, rest } = problemsOf(error.value);
  return (
    <Card>
      <Form class="flex flex-col gap-5" onSubmit={create}>
        {isWebhook && (
          <TextField
            label="Address"
            type="url"
            inputMode="url"
            placeholder="https://example.com/spotcheck"
            autocomplete="off"
            autocapitalize="off"
            spellcheck={false}
            required
            value={url.value}
            onValue={(value) => (url.value = value)}
            error={byField['url']}
            hint="https only. A signed test is sent there now: it has to answer with 2xx within 8 seconds."
          />
        )}
        <TextField
          label="Name"
          placeholder={TYPES[type].label}
          maxLength={255}
          value={name.value}
          onValue={(value) => (name.value = value)}
          error={byField['name']}
          hint="What you call it, such as “On call”."
        />
        <Routing
          route={route.value}
          onRoute={(value) => (route.value = value)}
          error={byField['monitor_ids'] ?? byField['all_monitors']}
        />
        {!isWebhook && (
          <CheckField
            label="Reports, too"
            hint="Says so in the chat when a weekly or monthly report is made."
            checked={reports.value}
            onChecked={(value) => (reports.value = value)}
            error={byField['reports'] ?? null}
          />
        )}
        <FormError text={rest} />
        <div class="flex flex-wrap items-center gap-3">
          <Button type="submit" tone="primary" busy={isBusy.value}>
            {isWebhook ? 'Test and create' : 'Create and connect'}
          </Button>
          {isBusy.value && isWebhook && (
            <span class="late text-sm text-soft" role="status">
              Sending the test…
            </span>
          )}
        </div>
      </Form>
    </Card>
  );
}

/** Shows a failed test delivery as an error of the URL field. */
function problemsOf(error: unknown): ReturnType<typeof problemsByField> {
  if (error instanceof Failure && error.message.startsWith('test delivery failed'))
    return { byField: { url: sentenceOf(error) }, rest: null };
  return problemsByField(error, FIELDS);
}

function Made({ type, name, result }: { type: ChannelType; name: string; result: Created }) {
  // The form was scrolled to its end.
  useLayoutEffect(() => document.querySelector('main')?.scrollTo({ top: 0 }), []);
  if (type !== 'webhook') {
    return (
      <Page title={name} back={BACK}>
        <ConnectChat id={result.id} type={type} links={result} />
      </Page>
    );
  }
  return (
    <Page title={`${name} is connected`} back={BACK} lead="The test arrived. Alerts go there from now on.">
      <ShownOnce
        question="Have you kept the secret?"
        text="It is never shown again. Without it your receiver cannot tell who calls, until you change it for another."
        href={`/channels/${result.id}`}
      >
        {result.signing_secret !== undefined && <SigningSecret secret={result.signing_secret} />}
      </ShownOnce>
    </Page>
  );
}
