import addFormats from 'ajv-formats';
import { Ajv2020 } from 'ajv/dist/2020.js';
import test from 'ava';
import { buildAgentMessage } from '../../../core/agents/message.ts';
import { buildTestMessage, type EventMessage, type MonitorMessage } from '../../../core/alerts/envelope.ts';
import { WEBHOOK_PRESETS, type WebhookPreset } from '../../../core/alerts/webhook.ts';
import { buildAdvisoryMessage } from '../../../core/checks/domain/advisory.ts';
import { presetAlertsOf } from '../../../notifications/webhook/presets/alert.ts';
import { PRESETS, findPresetUrlProblem } from '../../../notifications/webhook/presets/index.ts';

const AT = 1_763_721_000;
const publicUrl = 'https://spotcheck.example';
const ajv = new Ajv2020({ strict: false, allErrors: true });
(addFormats as unknown as (to: Ajv2020) => void)(ajv);

const text = (maxLength?: number) => ({ type: 'string', minLength: 1, ...(maxLength !== undefined && { maxLength }) });
const object = (properties: Record<string, object>, required = Object.keys(properties)) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});
const https = { type: 'string', format: 'uri' };

/** Formats of the receivers in the project's own words: fields, limits and required parts. */
const RECEIVERS: Record<WebhookPreset, { url: string; schema: object }> = {
  // https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml (postableAlerts)
  alertmanager: {
    url: 'https://alerts.example/api/v2/alerts',
    schema: {
      type: 'array',
      items: object({
        labels: {
          type: 'object',
          additionalProperties: text(),
          propertyNames: { pattern: '^[a-zA-Z_][a-zA-Z0-9_]*$' },
        },
        annotations: { type: 'object', additionalProperties: text() },
        startsAt: { type: 'string', format: 'date-time' },
        endsAt: { type: 'string', format: 'date-time' },
        generatorURL: https,
      }),
    },
  },
  // https://discord.com/developers/docs/resources/message#embed-object-embed-limits
  discord: {
    url: 'https://discord.com/api/webhooks/1/key',
    schema: object({
      username: text(80),
      allowed_mentions: { const: { parse: [] } },
      embeds: {
        type: 'array',
        maxItems: 10,
        items: object(
          {
            title: text(256),
            url: https,
            color: { type: 'integer', minimum: 0, maximum: 0xffffff },
            timestamp: { type: 'string', format: 'date-time' },
            description: text(4096),
            fields: {
              type: 'array',
              maxItems: 25,
              items: object({ name: text(256), value: text(1024), inline: { type: 'boolean' } }),
            },
          },
          ['title', 'fields'],
        ),
      },
    }),
  },
  // https://developers.google.com/workspace/chat/api/reference/rest/v1/cards
  google_chat: {
    url: 'https://chat.googleapis.com/v1/spaces/A/messages?key=k&token=t',
    schema: object({
      fallbackText: text(),
      thread: object({ threadKey: text(4000) }),
      cardsV2: {
        type: 'array',
        minItems: 1,
        maxItems: 1,
        items: object({
          cardId: text(),
          card: object({
            header: object({ title: text(), subtitle: { type: 'string' } }),
            sections: { type: 'array', minItems: 1, items: object({ widgets: { type: 'array', maxItems: 100 } }) },
          }),
        }),
      },
    }),
  },
  // https://gotify.net/api-docs#/message/createMessage
  gotify: {
    url: 'https://gotify.example/message?token=t',
    schema: object({
      title: text(),
      message: text(),
      priority: { type: 'integer', minimum: 0, maximum: 10 },
      extras: { type: 'object', propertyNames: { pattern: '::' } },
    }),
  },
  // https://grafana.com/docs/oncall/latest/configure/integrations/references/webhook/
  grafana_oncall: {
    url: 'https://oncall.example/integrations/v1/formatted_webhook/k/',
    schema: object({
      alert_uid: text(),
      title: text(),
      state: { enum: ['alerting', 'ok'] },
      link_to_upstream_details: https,
      message: text(),
    }),
  },
  // https://developers.mattermost.com/integrate/reference/message-attachments/
  mattermost: {
    url: 'https://mattermost.example/hooks/k',
    schema: object({
      username: text(),
      attachments: {
        type: 'array',
        items: object({
          fallback: text(),
          color: { type: 'string', pattern: '^#[0-9a-f]{6}$' },
          title: text(),
          title_link: https,
          text: { type: 'string' },
          fields: { type: 'array', items: object({ short: { type: 'boolean' }, title: text(), value: text() }) },
        }),
      },
    }),
  },
  // https://docs.ntfy.sh/publish/#publish-as-json; a message is at most 4,096 bytes
  ntfy: {
    url: 'https://ntfy.example/alerts',
    schema: object({
      topic: { const: 'alerts' },
      title: text(),
      message: text(4096),
      priority: { type: 'integer', minimum: 1, maximum: 5 },
      tags: { type: 'array', items: text() },
      click: https,
    }),
  },
  // https://docs.opsgenie.com/docs/alert-api
  opsgenie: {
    url: 'https://api.opsgenie.com/v2/alerts',
    schema: {
      anyOf: [
        object({
          message: text(130),
          alias: text(512),
          description: text(15_000),
          details: { type: 'object', additionalProperties: { type: 'string' } },
          entity: text(512),
          source: text(100),
          priority: { enum: ['P1', 'P2', 'P3', 'P4', 'P5'] },
        }),
        object({ source: text(100), note: text(25_000) }),
      ],
    },
  },
  // https://developer.pagerduty.com/docs/send-alert-event
  pagerduty: {
    url: 'https://events.pagerduty.com/v2/enqueue?routing_key=0123456789abcdef0123456789abcdef',
    schema: object(
      {
        routing_key: text(32),
        event_action: { enum: ['trigger', 'acknowledge', 'resolve'] },
        dedup_key: text(255),
        client: text(),
        client_url: https,
        payload: object({
          summary: text(1024),
          source: text(),
          severity: { enum: ['critical', 'error', 'warning', 'info'] },
          timestamp: { type: 'string', format: 'date-time' },
          component: text(),
          class: text(),
          custom_details: { type: 'object' },
        }),
        links: { type: 'array', items: object({ href: https, text: text() }) },
      },
      ['routing_key', 'event_action', 'dedup_key'],
    ),
  },
  // https://adaptivecards.io/schemas/adaptive-card.json (1.4), as an attachment of a message of a workflow
  teams: {
    url: 'https://prod.logic.azure.com/workflows/k',
    schema: object({
      type: { const: 'message' },
      attachments: {
        type: 'array',
        minItems: 1,
        maxItems: 1,
        items: object({
          contentType: { const: 'application/vnd.microsoft.card.adaptive' },
          contentUrl: { const: null },
          content: object({
            $schema: https,
            type: { const: 'AdaptiveCard' },
            version: { const: '1.4' },
            body: { type: 'array', items: { type: 'object', properties: { type: { const: 'RichTextBlock' } } } },
            actions: { type: 'array', items: object({ type: { const: 'Action.OpenUrl' }, title: text(), url: https }) },
          }),
        }),
      },
    }),
  },
};

const HOSTILE = ['[x](https://evil.example) @everyone <b>&', '"\\\n\u{202E}', '\u{1F600}'.repeat(60), '*'.repeat(255)];

for (const preset of WEBHOOK_PRESETS) {
  const { url, schema } = RECEIVERS[preset];
  test(`${preset} gets each event in its published format, even with unusual names`, (t) => {
    const isValid = ajv.compile(schema);
    for (const name of ['Shop', ...HOSTILE])
      for (const message of messagesAbout(name))
        for (const request of requestsOf(preset, message, url))
          t.true(
            isValid(JSON.parse(JSON.stringify(request.body))),
            `${message.event}: ${JSON.stringify(isValid.errors)}`,
          );
  });
}

test('PagerDuty opens and resolves one alert, with the routing key from the URL', (t) => {
  const [down, up] = [downOf('Shop'), upOf('Shop')];
  const { url } = RECEIVERS.pagerduty;
  const [opened] = requestsOf('pagerduty', down, url);
  t.is(opened?.url.href, 'https://events.pagerduty.com/v2/enqueue');
  t.like(opened?.body, {
    routing_key: '0123456789abcdef0123456789abcdef',
    event_action: 'trigger',
    dedup_key: 'spotcheck/spotcheck.example/inc_1',
    payload: {
      summary: 'Down: Shop: The response has the status 503',
      source: 'https://shop.example/',
      severity: 'critical',
      timestamp: '2025-11-21T10:30:00Z',
    },
  });
  t.like(requestsOf('pagerduty', up, url)[0]?.body, {
    event_action: 'resolve',
    dedup_key: 'spotcheck/spotcheck.example/inc_1',
  });
});

test('when an unknown monitor goes down, its alert is resolved and one for the incident is triggered', (t) => {
  const down = downOf('Shop');
  const after = { ...down, detail: { ...down.detail, previous_state: 'unknown' as const } };
  const sent = requestsOf('pagerduty', after, RECEIVERS.pagerduty.url).map(({ body }) => body);
  t.like(sent, [
    { event_action: 'trigger', dedup_key: 'spotcheck/spotcheck.example/inc_1' },
    { event_action: 'resolve', dedup_key: 'spotcheck/spotcheck.example/mon_1' },
  ]);
});

test('Opsgenie closes an alert by its alias, which stays one path segment when decoded', (t) => {
  const { url } = RECEIVERS.opsgenie;
  const [opened] = requestsOf('opsgenie', downOf('Shop'), url);
  t.like(opened, { url: new URL(url), body: { alias: 'spotcheck:spotcheck.example:inc_1', priority: 'P1' } });
  const close = requestsOf('opsgenie', upOf('Shop'), url)[0]?.url;
  t.is(close?.search, '?identifierType=alias');
  t.is(decodeURIComponent(close?.pathname ?? ''), '/v2/alerts/spotcheck:spotcheck.example:inc_1/close');
});

test('Alertmanager gets the same labels for a firing and a resolved alert, and endsAt resolves it', (t) => {
  const { url } = RECEIVERS.alertmanager;
  const [firing, resolved] = [downOf('Shop'), upOf('Shop')].map(
    (message) => requestsOf('alertmanager', message, url)[0]?.body as [{ labels: object; endsAt: string }] | undefined,
  );
  t.deepEqual(firing?.[0].labels, resolved?.[0].labels);
  t.is(resolved?.[0].endsAt, '2025-11-21T10:35:00Z');
  t.true(Date.parse(firing?.[0].endsAt ?? '') > AT * 1000 + 86_400_000);
});

test('Alertmanager gets the same labels after a monitor or agent is renamed or its target changes', (t) => {
  const up = upOf('Market');
  const moved = { ...up, monitor: { ...up.monitor, target: 'https://market.example/' } };
  const agentWas = (state: 'offline' | 'online', name: string) =>
    buildAgentMessage({
      agent: { id: 'agt_1', name, region: null },
      state,
      atMs: AT * 1000,
      lastSeenAt: AT,
      publicUrl,
    });
  for (const [began, ended] of [
    [downOf('Shop'), moved],
    [agentWas('offline', 'home'), agentWas('online', 'home-lab')],
  ] as const) {
    const [firing, resolved] = [began, ended].map(
      (message) => requestsOf('alertmanager', message, RECEIVERS.alertmanager.url)[0]?.body as [{ labels: object }],
    );
    t.deepEqual(firing?.[0].labels, resolved?.[0].labels);
  }
});

test('a Discord title has its markup escaped and is cut at a character boundary', (t) => {
  const titleOf = (name: string) => {
    const body = requestsOf('discord', downOf(name), RECEIVERS.discord.url)[0]?.body as { embeds: { title: string }[] };
    return body.embeds[0]?.title ?? '';
  };
  t.is(titleOf('my_shop_*'), String.raw`Down: my\_shop\_\*`);
  for (let length = 120; length < 130; length += 1) {
    const title = titleOf(`${'x'.repeat(length % 2)}${'\u{1F600}'.repeat(length)}`);
    t.true(title.isWellFormed());
    t.true(title.length <= 256, `${title.length}`);
  }
});

test('a topic that ntfy does not accept is rejected', (t) => {
  for (const path of ['%zz', 'a%2Fb', '%E2%98%83', '/', 'x'.repeat(65), 'a b'])
    t.regex(findPresetUrlProblem('ntfy', `https://ntfy.sh/${path}`) ?? '', /^must end with the topic/, path);
  for (const path of ['up_1-x', 'base/alerts/', 'x'.repeat(64)])
    t.is(findPresetUrlProblem('ntfy', `https://ntfy.sh/${path}`), null, path);
});

test('a URL without the integration key or topic of its receiver is rejected', (t) => {
  t.regex(findPresetUrlProblem('pagerduty', 'https://events.pagerduty.com/v2/enqueue') ?? '', /integration key/);
  t.regex(findPresetUrlProblem('ntfy', 'https://ntfy.sh/') ?? '', /topic/);
  for (const preset of WEBHOOK_PRESETS) t.is(findPresetUrlProblem(preset, RECEIVERS[preset].url), null, preset);
});

function requestsOf(preset: WebhookPreset, message: EventMessage, url: string) {
  return PRESETS[preset](presetAlertsOf(message, { nowMs: AT * 1000 }), { url: new URL(url), nowMs: AT * 1000 });
}

function messagesAbout(name: string): EventMessage[] {
  const monitor = downOf(name).monitor;
  const agent = { id: 'agt_1', name, region: null };
  return [
    downOf(name),
    upOf(name),
    buildAgentMessage({ agent, state: 'offline', atMs: AT * 1000, lastSeenAt: AT - 90, publicUrl }),
    buildAgentMessage({ agent, state: 'online', atMs: AT * 1000, lastSeenAt: AT, publicUrl }),
    buildAdvisoryMessage({ monitor, subject: 'domain', name, expiresAt: AT + 86_400, nowMs: AT * 1000, publicUrl }),
    buildTestMessage({ nowMs: AT * 1000, publicUrl }),
  ];
}

function downOf(name: string): MonitorMessage {
  const message = buildTestMessage({ nowMs: AT * 1000, publicUrl });
  return {
    ...message,
    event: 'monitor.down',
    state: 'down',
    monitor: { id: 'mon_1', name, type: 'http', target: 'https://shop.example/' },
    reason: 'The response has the status 503',
    detail: { ...message.detail, incident_id: 'inc_1', previous_state: 'up', sources_down: ['hanoi'] },
  };
}

function upOf(name: string): MonitorMessage {
  const down = downOf(name);
  return {
    ...down,
    event: 'monitor.up',
    event_at: AT + 300,
    state: 'up',
    reason: 'It responds again',
    detail: { ...down.detail, previous_state: 'down', sources_down: [], duration_seconds: 300 },
  };
}
