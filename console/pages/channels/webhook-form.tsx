import { useSignal } from '@preact/signals';
import { api } from '../../client/api.ts';
import { SECRET_PLACEHOLDER } from '../../client/curl.ts';
import { useJudgedForm } from '../../parts/action.ts';
import { Button } from '../../parts/button.tsx';
import { CurlButton } from '../../parts/curl.tsx';
import { Form, FormError } from '../../parts/field.tsx';
import { Card } from '../../parts/page.tsx';
import { toast } from '../../parts/toast.tsx';
import type { HeaderDraft } from '../monitor-form/draft.ts';
import { testAlert } from './notified.tsx';
import { changedHeaders, judgeWebhook, WEBHOOK_TEXTS, WebhookFields, type WebhookDraft } from './webhook-fields.tsx';
import type { Channel } from './words.tsx';

/** Changes the URL and headers of a webhook: a test alert has to arrive before they are stored. */
export function WebhookForm({ channel, onChanged }: { channel: Channel; onChanged: () => Promise<void> }) {
  const webhook = useSignal<WebhookDraft>({
    url: '',
    headers: (channel.header_names ?? []).map((name) => ({ name, value: '', kind: 'kept', isStored: true })),
  });
  const form = useJudgedForm(WEBHOOK_TEXTS);
  const body = () => {
    const url = webhook.value.url.trim();
    const headers = changedHeaders(webhook.value.headers);
    return { ...(url !== '' && { url }), ...(Object.keys(headers).length > 0 && { headers }) };
  };
  const isChanged = Object.keys(body()).length > 0;
  const save = () =>
    form.submit(judgeWebhook(webhook.value, false), async () => {
      await api.patch('/channels/{id}/webhook', { path: { id: channel.id }, body: body() });
      testAlert.set();
      webhook.value = { url: '', headers: webhook.value.headers.flatMap(storedOf) };
      toast('Test alert delivered. Changes saved');
      await onChanged();
    });
  return (
    <Card>
      <Form class="flex flex-col gap-5" noValidate onSubmit={save}>
        <WebhookFields
          webhook={webhook.value}
          onWebhook={(value) => (webhook.value = value)}
          problem={form.problem}
          storedHost={channel.url_host ?? ''}
        />
        <FormError text={form.rest} />
        <div class="flex flex-wrap items-center gap-2">
          <Button type="submit" tone="primary" busy={form.isBusy.value} disabled={!isChanged}>
            Test and save
          </Button>
          <CurlButton
            request={() => ({ method: 'PATCH', path: `/channels/${channel.id}/webhook`, body: hideSecrets(body()) })}
          />
        </div>
      </Form>
    </Card>
  );
}

/** A header once it is saved: its value is not shown any more. */
function storedOf({ name, kind }: HeaderDraft): HeaderDraft[] {
  return kind === 'removed' || name.trim() === ''
    ? []
    : [{ name: name.trim(), value: '', kind: 'kept', isStored: true }];
}

function hideSecrets({ headers = {}, ...rest }: { url?: string; headers?: Record<string, string | null> }) {
  const hidden = Object.entries(headers).map(([name, value]) => [name, value === null ? null : SECRET_PLACEHOLDER]);
  // The URL of a webhook is as good as a password of its receiver.
  const address = rest.url === undefined ? {} : { url: SECRET_PLACEHOLDER };
  return { ...address, ...(hidden.length > 0 && { headers: Object.fromEntries(hidden) }) };
}
