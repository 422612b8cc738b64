import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { XMLParser, XMLValidator } from 'fast-xml-parser';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { readDescription } from '../../api/description.ts';
import { buildAlert } from '../../core/alerts/chat/alert.ts';
import { buildTestMessage } from '../../core/alerts/envelope.ts';
import { buildReport, reportMonitor, reportedPeriod } from '../../core/statistics/reports/build.ts';
import { periodAround } from '../../core/statistics/reports/periods.ts';
import { runOn } from '../../models/sql.ts';
import { insertReport } from '../../models/statistics/reports.ts';
import { renderSlackMessage } from '../../notifications/slack/attempt.ts';
import { renderTelegramMessage } from '../../notifications/telegram/sending.ts';
import { withApiServer, type Account, type ApiServer } from '../api/api-server.ts';
import { listOperations, type Document } from '../helpers/described-operations.ts';
import { connectInProcess, type InProcessAnswer, type InProcessRequest } from '../helpers/in-process.ts';
import { furnishAccount, headersOf, type Furnished, type Kind } from './furnished-account.ts';
import { HOSTILE_TEXTS } from './hostile-texts.ts';
import { buildRequest, listTextFields, type RequestField } from './request-fields.ts';
import { listRows } from './stored-rows.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
const logLines: string[] = [];
const metrics = new Registry();
withApiServer(test, {
  logger: pino({ level: 'debug' }, { write: (line: string) => void logLines.push(line) }),
  metrics,
});

/** What is stored and not shown, written in another spelling than it is read, or made by the server. */
const UNSHOWN = new RegExp(
  String.raw`^check_spec\.(?:request\.(?:secretHeaders\.|secretHeaderNames|auth\.)|heartbeat\.token|vendor\.|` +
    String.raw`dependencies|domain\.)|^method$|^settings_version$|^maintenance\.window_id$`,
);

/** Which read shows what an operation wrote. */
const READS: Readonly<Record<string, (answer: InProcessAnswer, request: { path: string }) => string>> = {
  createMonitor: (answer) => `/v1/monitors/${idIn(answer)}`,
  updateMonitor: (_, { path }) => path,
  createChannel: (answer) => `/v1/channels/${idIn(answer)}`,
  updateChannel: (_, { path }) => path,
};

/** What must stand beside a text for it to be looked at, where the example of the description has something else. */
const BESIDE: readonly (readonly [operation: RegExp, way: RegExp, body: object])[] = [
  [/createChannel/, /^name$/, { type: 'telegram', all_monitors: true }],
  [/createMonitor/, /auth\.token/, { name: 'x', check_spec: { request: { auth: { type: 'bearer' } } } }],
  [
    /createMonitor/,
    /auth\./,
    { name: 'x', check_spec: { request: { auth: { type: 'basic', username: 'a', password: 'b' } } } },
  ],
  [
    /createMonitor/,
    /assertions\.0\.path/,
    { name: 'x', check_spec: { assertions: [{ source: 'json_body', op: 'exists' }] } },
  ],
  [
    /createMonitor/,
    /assertions\.0/,
    { name: 'x', check_spec: { assertions: [{ source: 'header', op: 'equals', name: 'ETag', value: 'v' }] } },
  ],
  [/createMonitor/, /transport/, { name: 'x', type: 'udp', target: 'a.example:53' }],
  [
    /createMonitor/,
    /dns/,
    {
      name: 'x',
      type: 'dns',
      target: 'a.example',
      check_spec: { dns: { records: [{ type: 'TXT', mode: 'equals' }] } },
    },
  ],
  [/createMonitor/, /^components/, { name: 'x', type: 'vendor', target: 'github' }],
];

/** Every text in every field of these; of the others each field gets a third, the next field the next. */
const CREATIONS = new Set([
  'createMonitor',
  'createChannel',
  'addIncidentNote',
  'acknowledgeIncident',
  'replayDeliveries',
]);

/** An account is good for 600 requests a minute. */
const FIELDS_PER_ACCOUNT = 9;

/** What has few turns a minute: here each text is to be looked at. */
const OF_FEW_TURNS = new Set([
  'requestCheck',
  'tryMonitor',
  'createMonitor',
  'updateMonitor',
  'listVendorComponents',
  'createChannel',
  'testChannel',
  'resendConfirmation',
  'updateWebhook',
  'replayDeliveries',
  'redeliver',
  'createToken',
  'createAgent',
]);

/** Accounts that are busy at a time. */
const AT_ONCE = 8;

function idIn({ text }: InProcessAnswer): string {
  return String((JSON.parse(text) as { id: unknown }).id);
}

test.serial(
  'a hostile text in any field of a request is stored and given back to the character, or refused with a 400',
  async (t) => {
    const { api } = t.context;
    const document = (await readDescription()) as unknown as Document;
    const before = new Set(await listRows(api));
    await furnishAccount(api, 'bystander');
    const bystanders = (await listRows(api)).filter((row) => !before.has(row));
    const fields = listOperations(document)
      .filter(({ token, method }) => token !== null && method !== 'DELETE')
      .flatMap((operation) => listTextFields(document, operation));
    const { send, close } = connectInProcess(api.server);
    t.teardown(close);
    let stored = 0;
    const shares = fields.map((field, index) => ({
      field,
      texts: CREATIONS.has(field.operation.id)
        ? HOSTILE_TEXTS
        : HOSTILE_TEXTS.filter((_, one) => one % 3 === index % 3),
    }));
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (
          let share = shares.splice(0, FIELDS_PER_ACCOUNT);
          share.length > 0;
          share = shares.splice(0, FIELDS_PER_ACCOUNT)
        ) {
          const furnished = await furnishAccount(api, 'writer');
          for (const { field, texts } of share)
            for (const text of texts) if (await write(t, { field, text, furnished, send })) stored += 1;
        }
      }),
    );
    t.true(stored > 400, `only ${stored} were stored`);

    const rows = new Set(await listRows(api));
    t.deepEqual(
      bystanders.filter((row) => !rows.has(row)),
      [],
      'of another account everything is there',
    );
    t.true(logLines.length > 1000);
    t.deepEqual(
      logLines.filter((line) => !isOneObject(line)),
      [],
      'one JSON object a line',
    );
    const longTexts = HOSTILE_TEXTS.filter((text) => text.length > 6);
    const spellings = longTexts.flatMap((text) => [text, JSON.stringify(text).slice(1, -1)]);
    const surroundings = {
      metrics: await metrics.metrics(),
      schedule: JSON.stringify(api.scheduleChanges),
      deliveries: JSON.stringify(api.enqueuedAttempts),
    };
    for (const [where, said] of Object.entries(surroundings))
      t.deepEqual(
        spellings.filter((text) => said.includes(text)),
        [],
        where,
      );
    t.deepEqual(
      surroundings.metrics.split('\n').filter((line) => !/^(?:#.*|\w+(?:\{[\w="/{}.:+,-]*\})? \S+)?$/.test(line)),
      [],
      'labels are words of ours',
    );
  },
);

type Written = {
  field: RequestField;
  text: string;
  furnished: Furnished;
  send: (request: InProcessRequest) => Promise<InProcessAnswer>;
};

/** Sends a text in a field; true where it was taken, and then what reads it shows it. */
async function write(
  t: ExecutionContext<{ api: ApiServer }>,
  { field, text, furnished, send }: Written,
): Promise<boolean> {
  const { operation, way } = field;
  const { ids } = furnished;
  const beside = BESIDE.find(([id, where]) => id.test(operation.id) && where.test(way.join('.')))?.[2];
  // A path or a query has no form for half a character.
  const request = buildRequest(
    {
      ...field,
      operation:
        beside === undefined || operation.body === null
          ? operation
          : { ...operation, body: { ...operation.body, example: beside } },
    },
    field.in === 'body' ? text : text.toWellFormed(),
    (kind) => ids[kind as Kind]?.[0] ?? '',
  );
  const headers = { ...headersOf(furnished, operation.token), 'Content-Type': 'application/json' };
  if (OF_FEW_TURNS.has(operation.id))
    await t.context.api.database.pool.query(
      `DELETE FROM rate_limits WHERE key ~
       '^spotcheck-(read|thing|test|channel-test|check|account-check|redelivery|replay|token|agent):'`,
    );
  const answer = await send({
    method: request.method,
    path: request.path,
    headers,
    ...(request.body !== undefined && { body: JSON.stringify(request.body) }),
  });
  const name =
    `${operation.id} with ${JSON.stringify(text)} at ${way.join('.')}: ${answer.status} ` +
    `${answer.text.slice(0, 300)}`;
  // Nothing but wrong passwords comes from one address, and after thirty of them it waits; so does who gives the right
  // one so often in a minute.
  const isForOperators = answer.status === 403 && answer.text.includes('operators of this installation');
  t.true(
    answer.status < 300 ||
      isForOperators ||
      [400, 404, 409].includes(answer.status) ||
      (answer.status === 429 && operation.token === 'session' && /wrong passwords|too many sign-ins/.test(answer.text)),
    name,
  );
  if (answer.status >= 300) return false;
  const read = READS[operation.id]?.(answer, request);
  if (read === undefined || field.in !== 'body' || UNSHOWN.test(way.join('.'))) return true;
  const { text: shown } = await send({ method: 'GET', path: read, headers });
  const value = way.reduce<unknown>(
    (inner, step) => (inner as Record<string | number, unknown> | undefined)?.[step],
    JSON.parse(shown),
  );
  // What a type has no use for is not kept.
  if (value !== undefined) t.is(value, isTrimmed(field) ? text.trim() : text, name);
  return true;
}

/** Blanks around the names of monitors and channels are dropped (D-68). */
function isTrimmed({ operation, way }: RequestField): boolean {
  return /^(?:create|update)(?:Monitor|Channel)$/.test(operation.id) && way.join('.') === 'name';
}

/** No control characters either: what shows a log on a terminal obeys them. */
function isOneObject(line: string): boolean {
  return /^\{[^\p{Cc}]*\}\n$/u.test(line) && typeof JSON.parse(line) === 'object';
}

test.serial('a search finds a hostile text as it stands: nothing in it is a wildcard, a quote or an end', async (t) => {
  const { api } = t.context;
  const { owner } = await api.account();
  const names = HOSTILE_TEXTS.filter((text) => text.isWellFormed() && !text.includes('\0'));
  for (const name of names) t.is((await owner('POST', '/v1/monitors', { name })).status, 201, name);
  for (const q of names) {
    const { json } = await owner('GET', `/v1/monitors?q=${encodeURIComponent(q)}`);
    t.deepEqual(
      json['monitors'].map(({ name }) => name),
      names.map((name) => name.trim()).filter((name) => name.toLowerCase().includes(q.toLowerCase())),
      q,
    );
  }
});

const WEEK = periodAround('week', Date.UTC(2026, 2, 4) / 1000);

/** A report of monitors of these names, whose incidents have them for reasons. */
async function storeReport(
  { database, makeId }: ApiServer,
  { tenantId }: Account,
  names: readonly string[],
): Promise<string> {
  const at = WEEK.startSeconds + 86_400;
  const incidents = names.map((name, index) => ({
    id: `inc_${index}`,
    monitor_id: `mon_${index}`,
    monitor_name: name,
    state: 'down' as const,
    reason: name,
    started_at: at,
    resolved_at: at + 60,
    duration_seconds: 60,
    resolution: 'recovered' as const,
  }));
  const lines = names.map((name, index) =>
    reportMonitor(reportedPeriod(WEEK, []), {
      monitor: { id: `mon_${index}`, name, type: 'http', slaTarget: null, sla: null, createdAtMs: 0 },
      transitions: [],
      maintenance: [],
      retroactive: [],
      days: [],
      incidents: { count: 1, longestSeconds: 60, resolved: 1, resolvedSeconds: 60 },
    }),
  );
  const id = makeId('rep');
  await insertReport(runOn(database.pool), {
    id,
    tenantId,
    window: WEEK,
    ...buildReport(WEEK, lines, { incidents, gaps: [] }),
    nowMs: WEEK.endSeconds * 1000,
  });
  return id;
}

test.serial(
  'in a report hostile names are text: the page has no markup that is not ours, and no cell of the table begins ' +
    'as a formula',
  async (t) => {
    const { api } = t.context;
    const account = await api.account();
    const names = HOSTILE_TEXTS.filter((text) => text.isWellFormed() && !text.includes('\0'));
    const id = await storeReport(api, account, names);

    const page = (await account.reader('GET', `/v1/reports/${id}?format=html`)).text;
    t.is(XMLValidator.validate(page.replace(/^<!doctype html>\n/, '')), true);
    t.notRegex(page, /<(?:script|img|a|iframe|link|b|html><)[\s>]/i);
    t.notRegex(page, /\s(?:on\w+|src|href|style)\s*=\s*["']/i);
    const headings = [...page.matchAll(/<h3>([\s\S]*?)<\/h3>/g)].map(([, inner = '']) => textOf(inner));
    // Parsers make one line break of the two.
    t.deepEqual(
      headings,
      names.map((name) => name.replaceAll(/\r\n?/g, '\n')),
    );

    const cells = parseCsv((await account.reader('GET', `/v1/reports/${id}?format=csv`)).text).map(
      (line) => line[1] ?? '',
    );
    t.is(cells.length, names.length + 1);
    t.deepEqual(
      cells.filter((cell) => /^[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/.test(cell)),
      [],
    );
    t.deepEqual(
      cells
        .slice(1)
        .map((cell) =>
          cell.replace(/^'(?=[=+\-@\t\r\n\uFF1D])/, '').replaceAll(/(?<=[;\t\r\n])'(?=[=+\-@\uFF1D])/g, ''),
        ),
      names,
    );
  },
);

/** What a piece of a page shows, as a parser sees it. */
function textOf(inner: string): string {
  const parsed = new XMLParser({
    parseTagValue: false,
    trimValues: false,
    processEntities: true,
    htmlEntities: true,
    preserveOrder: true,
  }).parse(`<x>${inner}</x>`) as object[];
  const visit = (nodes: object[]): string =>
    nodes
      .map((node) =>
        Object.entries(node)
          .map(([tag, value]) => (tag === '#text' ? String(value) : Array.isArray(value) ? visit(value) : ''))
          .join(''),
      )
      .join('');
  return visit(parsed);
}

/** RFC 4180, strictly. */
function parseCsv(text: string): string[][] {
  return [...text.matchAll(/((?:"(?:[^"]|"")*"|[^",\r\n]*)(?:,(?:"(?:[^"]|"")*"|[^",\r\n]*))*)\r\n/g)].map(
    ([, line = '']) =>
      [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^",]*))/g)].map(
        ([, quoted, bare]) => quoted?.replaceAll('""', '"') ?? bare ?? '',
      ),
  );
}

for (const text of HOSTILE_TEXTS) {
  test(`to a chat ${JSON.stringify(text)} is a text: nobody is mentioned, nothing linked, no line added`, (t) => {
    const message = {
      ...buildTestMessage({ nowMs: 0, publicUrl: 'https://spotcheck.example' }),
      event: 'monitor.down' as const,
      state: 'down' as const,
      reason: text,
    };
    const alert = buildAlert(
      {
        ...message,
        monitor: { ...message.monitor, name: text, target: text },
        detail: { ...message.detail, sources_down: [text], sources_total: 2 },
      },
      60_000,
    );
    const link = alert.link?.url ?? '';
    const telegram = renderTelegramMessage('1', alert).text;
    const tags = [...telegram.matchAll(/<[^>]*>?/g)].map(([tag]) => tag);
    t.deepEqual(
      [...new Set(tags)].filter((tag) => !['<b>', '</b>', `<a href="${link}">`, '</a>'].includes(tag)),
      [],
    );
    t.notRegex(telegram, /(?:^|\s)[@/](?:channel|here|everyone|stop)/);
    const slack = renderSlackMessage(alert);
    const runs = slack.blocks.flatMap((block) =>
      block.type === 'rich_text' ? block.elements.flatMap(({ elements }) => elements) : [],
    );
    const headers = slack.blocks.flatMap((block) => (block.type === 'header' ? [block.text.text] : []));
    // Rich text says itself what it is: of texts Slack reads nothing but the text, and the one link is ours.
    t.deepEqual(
      runs.filter(({ type }) => type !== 'text'),
      [{ type: 'link', url: link, text: alert.link?.label ?? '' }],
    );
    for (const one of [slack.text, ...headers]) t.notRegex(one, /<[!@#h]|@(?:channel|here|everyone)/);
    t.false(slack.mrkdwn);
    for (const one of [slack.text, ...headers, ...runs.map((run) => run.text.replace(/^\n/, ''))])
      t.notRegex(one, /[^\P{Cc}\n]|[\u202A-\u202E\u2066-\u2069]/u);
    t.notRegex(telegram, /[^\P{Cc}\n]|[\u202A-\u202E\u2066-\u2069]/u);
  });
}
