import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import {
  MAX_WEBHOOK_HEADERS,
  findHeadersProblem,
  type WebhookPreset,
  type WebhookTemplate,
} from '../../../core/alerts/webhook.ts';
import { capitalize, type FieldTexts } from '../../client/answer.ts';
import { api } from '../../client/api.ts';
import { isSame, refuseStale } from '../../client/concurrent-edits.ts';
import { SECRET_PLACEHOLDER } from '../../client/curl.ts';
import { toast, useJudgedForm } from '../../parts/action.tsx';
import { Button } from '../../parts/button.tsx';
import { SelectField } from '../../parts/choice-fields.tsx';
import { CurlButton } from '../../parts/copy.tsx';
import { useUnsaved } from '../../parts/dialog.tsx';
import { Form, FormError, TextArea, TextField } from '../../parts/field.tsx';
import { Card } from '../../parts/page.tsx';
import type { HeaderDraft } from '../monitor-form/draft.ts';
import { headerField, judgeHeaders } from '../monitor-form/judge-spec.ts';
import { HeaderList } from '../monitor-form/request-fields.tsx';
import { testAlert, type Channel } from './words.tsx';

/** Changes the URL, headers and format of a webhook: a test alert has to arrive before they are stored. */
export function WebhookForm({ channel, onChanged }: { channel: Channel; onChanged: () => Promise<void> }) {
  const webhook = useSignal<WebhookDraft>({
    url: '',
    format: formatDraftOf(channel),
    headers: (channel.header_names ?? []).map((name) => ({ name, value: '', kind: 'kept', isStored: true })),
  });
  const known = useRef(sentFormat(formatDraftOf(channel)));
  const form = useJudgedForm(WEBHOOK_TEXTS);
  const body = () => {
    const url = webhook.value.url.trim();
    const headers = changedHeaders(webhook.value.headers);
    const format = sentFormat(webhook.value.format);
    return {
      ...(url !== '' && { url }),
      ...(Object.keys(headers).length > 0 && { headers }),
      ...(!isSame(format, known.current) && format),
    };
  };
  const isChanged = () => Object.keys(body()).length > 0;
  useUnsaved(isChanged, form.isBusy.value, 'tab');
  const save = () =>
    form.submit(judgeWebhook(webhook.value, false), async () => {
      const path = { id: channel.id };
      const typed = webhook.value;
      const [sent, format] = [body(), sentFormat(typed.format)];
      if ('preset' in sent) {
        const present = sentFormat(formatDraftOf(await api.get('/channels/{id}', { path })));
        refuseStale(known, { present, sent: format }, 'the format');
      }
      await api.patch('/channels/{id}/webhook', { path, body: sent });
      if ('preset' in sent) known.current = format;
      testAlert.set();
      // Input typed meanwhile is not stored, and stays.
      const { url, headers } = webhook.value;
      webhook.value = {
        ...webhook.value,
        url: url === typed.url ? '' : url,
        headers: headers.flatMap((header) => (typed.headers.includes(header) ? storedOf(header) : [header])),
      };
      toast('Test alert delivered. Changes saved');
      await onChanged();
    });
  return (
    <Card>
      <Form class="flex flex-col gap-5" onSubmit={save}>
        <WebhookFields
          webhook={webhook.value}
          onWebhook={(value) => (webhook.value = value)}
          problem={form.problem}
          storedHost={channel.url_host ?? ''}
        />
        <FormError text={form.rest} />
        <div class="flex flex-wrap items-center gap-2">
          <Button type="submit" tone="primary" busy={form.isBusy.value} disabled={!isChanged()}>
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

/** Returns a header as it is after a save: its value is no longer shown. */
function storedOf({ name, kind }: HeaderDraft): HeaderDraft[] {
  return kind === 'removed' || name.trim() === ''
    ? []
    : [{ name: name.trim(), value: '', kind: 'kept', isStored: true }];
}

function hideSecrets({ headers = {}, url, ...format }: { url?: string; headers?: Record<string, string | null> }) {
  const hidden = Object.entries(headers).map(([name, value]) => [name, value === null ? null : SECRET_PLACEHOLDER]);
  // The URL of a webhook is as good as a password of its receiver.
  const address = url === undefined ? {} : { url: SECRET_PLACEHOLDER };
  return { ...format, ...address, ...(hidden.length > 0 && { headers: Object.fromEntries(hidden) }) };
}

/** Address, format and headers of a webhook. */
export type WebhookDraft = { url: string; format: FormatDraft; headers: readonly HeaderDraft[] };

type WebhookFieldsProps = {
  webhook: WebhookDraft;
  onWebhook: (webhook: WebhookDraft) => void;
  problem: (field: string) => string | undefined;
  /** Host of the stored URL, which an empty field keeps; null for a new webhook. */
  storedHost: string | null;
};

/** The format, the URL and the headers of a webhook. */
export function WebhookFields({ webhook, onWebhook, problem, storedHost }: WebhookFieldsProps) {
  const address = addressOf(webhook.format);
  const test = problem('test');
  const isOfTemplate = test?.includes(TEMPLATE_FIELD) === true;
  return (
    <>
      <FormatFields
        format={webhook.format}
        onFormat={(format) => onWebhook({ ...webhook, format })}
        problem={(field) => (field === 'template.body' && isOfTemplate ? test : problem(field))}
      />
      <TextField
        label="URL"
        name="url"
        inputMode="url"
        placeholder={storedHost === null ? address.url : `https://${storedHost}/…`}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        value={webhook.url}
        onValue={(url) => onWebhook({ ...webhook, url })}
        error={problem('url') ?? (isOfTemplate ? undefined : test)}
        hint={storedHost === null ? address.hint : 'Leave empty to keep the current URL.'}
      />
      <HeaderList
        headers={webhook.headers}
        onHeaders={(headers) => onWebhook({ ...webhook, headers })}
        kinds={['secret']}
        problem={(field) => (field === LIST_FIELD ? problem('headers') : problem(field))}
      />
    </>
  );
}

/** Field under which the list of headers requests the error of the whole list. */
const LIST_FIELD = 'check_spec.request.headers';

/** Name of a template's body in the form. */
const TEMPLATE_FIELD = 'the body';

/** Errors of fields that the API refuses. */
export const WEBHOOK_TEXTS: FieldTexts = {
  // `test delivery failed: ...` is about the URL, unless it names the template.
  test: (sentence) => capitalize(sentence.replace('template.body', TEMPLATE_FIELD)),
  template: 'One of the fields of the template is not accepted',
  preset: 'Choose one of the formats',
  url: (sentence) =>
    sentence.startsWith('url must contain') || sentence.startsWith('url must end')
      ? capitalize(sentence.replace(/^url/, 'the URL'))
      : 'Enter a full URL, like https://example.com/spotcheck',
  headers: (sentence) =>
    sentence.includes('as well, with a value or null')
      ? 'Enter the headers again or remove them: the host has changed'
      : 'One of the headers is not accepted',
};

/** Finds the errors of a webhook's fields; an empty URL is an error only for a new one. */
export function judgeWebhook({ url, headers, format }: WebhookDraft, isNew: boolean): Record<string, string | null> {
  const { [LIST_FIELD]: count, ...rows } = judgeHeaders(headers, MAX_WEBHOOK_HEADERS);
  const reserved = headers.findIndex(({ name }) => findHeadersProblem({ [name.trim()]: '' }) !== null);
  return {
    url: judgeUrl(url.trim(), isNew),
    headers: count ?? null,
    'template.body': format.choice === 'template' && format.template.body.trim() === '' ? 'Enter a template' : null,
    ...Object.fromEntries(Object.entries(rows).map(([field, text]) => [field, text ?? null])),
    ...(reserved >= 0 && { [headerField(reserved)]: 'Deliveries set this header themselves' }),
  };
}

function judgeUrl(text: string, isNew: boolean): string | null {
  if (text === '') return isNew ? 'Enter a URL' : null;
  const url = URL.parse(text);
  if (!/^https:\/\//i.test(text)) return 'The URL must start with https://';
  if (url === null) return 'Enter a full URL, like https://example.com/spotcheck';
  return url.username === '' && url.password === '' ? null : 'Leave out the user name and password';
}

/** Returns the headers of a new webhook, as they are sent. */
export function sentHeaders(headers: readonly HeaderDraft[]): Record<string, string> {
  return Object.fromEntries(
    headers.flatMap(({ name, value, kind }) => (kind === 'secret' && name.trim() !== '' ? [[name.trim(), value]] : [])),
  );
}

/** Returns the change of a stored webhook's headers, as it is sent: null removes one. */
function changedHeaders(headers: readonly HeaderDraft[]): Record<string, string | null> {
  const removed = headers.flatMap(({ name, kind }) => (kind === 'removed' ? [[name, null] as const] : []));
  return { ...Object.fromEntries(removed), ...sentHeaders(headers) };
}

/** Chosen format of a webhook; the template is kept while another format is chosen. */
type FormatDraft = { choice: 'signed' | 'template' | WebhookPreset; template: WebhookTemplate };

/** Name of each receiver, and a sample of its URL. */
const RECEIVERS: Record<WebhookPreset, { label: string; url: string; hint: string }> = {
  alertmanager: {
    label: 'Alertmanager',
    url: 'https://alertmanager.example.com/api/v2/alerts',
    hint: 'The alerts API.',
  },
  discord: { label: 'Discord', url: 'https://discord.com/api/webhooks/…', hint: 'Channel settings > Integrations.' },
  google_chat: {
    label: 'Google Chat',
    url: 'https://chat.googleapis.com/v1/spaces/…',
    hint: 'Space > Apps & integrations > Webhooks.',
  },
  gotify: { label: 'Gotify', url: 'https://gotify.example.com/message?token=…', hint: 'With the application’s token.' },
  grafana_oncall: {
    label: 'Grafana OnCall / IRM',
    url: 'https://…/integrations/v1/formatted_webhook/…',
    hint: 'A formatted webhook integration.',
  },
  mattermost: {
    label: 'Mattermost',
    url: 'https://mattermost.example.com/hooks/…',
    hint: 'Integrations > Incoming Webhooks.',
  },
  ntfy: { label: 'ntfy', url: 'https://ntfy.sh/your-topic', hint: 'Ends with the topic.' },
  opsgenie: {
    label: 'Opsgenie / Jira Service Management',
    url: 'https://api.opsgenie.com/v2/alerts',
    hint: 'Add the header Authorization: GenieKey YOUR_KEY.',
  },
  pagerduty: {
    label: 'PagerDuty',
    url: 'https://events.pagerduty.com/v2/enqueue?routing_key=…',
    hint: 'With the integration key of an Events API v2 integration.',
  },
  teams: { label: 'Microsoft Teams', url: 'https://…/workflows/…', hint: 'A workflow that posts webhook requests.' },
};

const CHOICES = [
  { value: 'signed', label: 'Signed JSON' },
  ...Object.entries(RECEIVERS)
    .map(([value, { label }]) => ({ value, label }))
    .toSorted((a, b) => a.label.localeCompare(b.label)),
  { value: 'template', label: 'Custom template' },
];

const METHODS = ['POST', 'PUT', 'PATCH'] as const;

const TEMPLATE: WebhookTemplate = {
  method: 'POST',
  contentType: 'application/json',
  body: '{\n  "title": {{ title | json }},\n  "text": {{ text | json }},\n  "url": {{ url | json }}\n}',
};

/** Returns the stored format of a channel, to be changed; without a channel that of a new one. */
export function formatDraftOf({ preset, template }: Partial<Pick<Channel, 'preset' | 'template'>>): FormatDraft {
  if (template === undefined) return { choice: preset ?? 'signed', template: TEMPLATE };
  const { method, content_type: contentType, body } = template;
  return { choice: 'template', template: { method, contentType, body } };
}

/** Returns an example of the address that a format requires, and its description. */
function addressOf({ choice }: FormatDraft): { url: string; hint: string } {
  return choice === 'signed' || choice === 'template'
    ? { url: 'https://example.com/spotcheck', hint: 'Must respond with 2xx within 8 seconds.' }
    : RECEIVERS[choice];
}

/** Converts the format to fields of the API, always both of them. */
export function sentFormat({ choice, template }: FormatDraft) {
  if (choice === 'signed') return { preset: null, template: null };
  if (choice !== 'template') return { preset: choice, template: null };
  const { method, contentType, body } = template;
  return { preset: null, template: { method, content_type: contentType.trim(), body } };
}

type FormatProps = {
  format: FormatDraft;
  onFormat: (format: FormatDraft) => void;
  problem: (field: string) => string | undefined;
};

/** The choice of a format, and the fields of a custom template. */
function FormatFields({ format, onFormat, problem }: FormatProps) {
  const { choice, template } = format;
  const onTemplate = (change: Partial<WebhookTemplate>) =>
    onFormat({ ...format, template: { ...template, ...change } });
  return (
    <>
      <SelectField
        label="Format"
        name="format"
        options={CHOICES}
        value={choice}
        onValue={(value) => onFormat({ ...format, choice: value as FormatDraft['choice'] })}
        error={problem('preset')}
      />
      {choice === 'template' && (
        <>
          <div class="grid gap-5 sm:grid-cols-2">
            <SelectField
              label="Method"
              options={METHODS.map((value) => ({ value, label: value }))}
              value={template.method}
              onValue={(value) => onTemplate({ method: value as WebhookTemplate['method'] })}
              error={problem('template.method')}
            />
            <TextField
              label="Content type"
              value={template.contentType}
              onValue={(contentType) => onTemplate({ contentType })}
              error={problem('template.content_type')}
            />
          </div>
          <TextArea
            label="Body"
            mono
            rows={8}
            spellcheck={false}
            value={template.body}
            onValue={(body) => onTemplate({ body })}
            error={problem('template.body') ?? problem('template')}
            hint="Liquid. Write values with the json filter, like {{ monitor.name | json }}."
          />
        </>
      )}
    </>
  );
}
