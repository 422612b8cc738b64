import { findHeadersProblem, MOST_WEBHOOK_HEADERS } from '../../../core/alerts/webhook-headers.ts';
import { capitalize, type FieldTexts } from '../../client/failure.ts';
import { TextField } from '../../parts/field.tsx';
import type { HeaderDraft } from '../monitor-form/draft.ts';
import { headerField, judgeHeaders } from '../monitor-form/judge-spec.ts';
import { HeaderList } from '../monitor-form/request-fields.tsx';

/** Where a webhook's deliveries go, and what they carry. */
export type WebhookDraft = { url: string; headers: readonly HeaderDraft[] };

type WebhookFieldsProps = {
  webhook: WebhookDraft;
  onWebhook: (webhook: WebhookDraft) => void;
  problem: (field: string) => string | undefined;
  /** The host of the stored URL, which an empty field keeps; null for a new webhook. */
  storedHost: string | null;
};

/** The URL and the headers of a webhook. */
export function WebhookFields({ webhook, onWebhook, problem, storedHost }: WebhookFieldsProps) {
  return (
    <>
      <TextField
        label="URL"
        inputMode="url"
        placeholder={storedHost === null ? 'https://example.com/spotcheck' : `https://${storedHost}/…`}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        value={webhook.url}
        onValue={(url) => onWebhook({ ...webhook, url })}
        error={problem('url') ?? problem('test')}
        hint={storedHost === null ? 'Must respond with 2xx within 8 seconds.' : 'Leave empty to keep the current URL.'}
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

/** The field under which the list of headers asks for the error of the whole. */
const LIST_FIELD = 'check_spec.request.headers';

/** What the fields say where the API refuses them. */
export const WEBHOOK_TEXTS: FieldTexts = {
  // `test delivery failed: ...`, which is about the URL.
  test: capitalize,
  url: 'Enter a full URL, like https://example.com/spotcheck',
  headers: (sentence) =>
    sentence.includes('as well, with a value or null')
      ? 'Enter the headers again or remove them: the host has changed'
      : 'One of the headers is not accepted',
};

/** Finds what is wrong with a webhook's fields; an empty URL is a problem of a new one only. */
export function judgeWebhook({ url, headers }: WebhookDraft, isNew: boolean): Record<string, string | null> {
  const { [LIST_FIELD]: count, ...rows } = judgeHeaders(headers, MOST_WEBHOOK_HEADERS);
  const reserved = headers.findIndex(({ name }) => findHeadersProblem({ [name.trim()]: '' }) !== null);
  return {
    url: judgeUrl(url.trim(), isNew),
    headers: count ?? null,
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

/** The headers of a new webhook, as they are sent. */
export function sentHeaders(headers: readonly HeaderDraft[]): Record<string, string> {
  return Object.fromEntries(
    headers.flatMap(({ name, value, kind }) => (kind === 'secret' && name.trim() !== '' ? [[name.trim(), value]] : [])),
  );
}

/** The change of a stored webhook's headers, as it is sent: null removes one. */
export function changedHeaders(headers: readonly HeaderDraft[]): Record<string, string | null> {
  const removed = headers.flatMap(({ name, kind }) => (kind === 'removed' ? [[name, null] as const] : []));
  return { ...Object.fromEntries(removed), ...sentHeaders(headers) };
}
