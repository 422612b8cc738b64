import type { WebhookPreset, WebhookTemplate } from '../../../core/alerts/webhook-format.ts';
import { SelectField } from '../../parts/choice-fields.tsx';
import { TextArea, TextField } from '../../parts/field.tsx';
import type { Channel } from './words.tsx';

/** The format of a webhook as it is being chosen; the template is kept while another one is chosen. */
export type FormatDraft = { choice: 'signed' | 'template' | WebhookPreset; template: WebhookTemplate };

/** What each receiver is called, and what its URL looks like. */
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

/** The stored format of a channel, to be changed; that of a new one without a channel. */
export function formatDraftOf({ preset, template }: Partial<Pick<Channel, 'preset' | 'template'>>): FormatDraft {
  if (template === undefined) return { choice: preset ?? 'signed', template: TEMPLATE };
  const { method, content_type: contentType, body } = template;
  return { choice: 'template', template: { method, contentType, body } };
}

/** The address that a format asks for: an example, and what it is. */
export function addressOf({ choice }: FormatDraft): { url: string; hint: string } {
  return choice === 'signed' || choice === 'template'
    ? { url: 'https://example.com/spotcheck', hint: 'Must respond with 2xx within 8 seconds.' }
    : RECEIVERS[choice];
}

/** The format as the API takes it, both of its fields named. */
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

/** The choice of a format, and the fields of a template of one's own. */
export function FormatFields({ format, onFormat, problem }: FormatProps) {
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
