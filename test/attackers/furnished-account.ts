import { buildTestMessage } from '../../core/alerts/envelope.ts';
import { MAX_AT_ONCE } from '../../core/monitors/bulk.ts';
import { buildReport, NO_INCIDENTS, reportedPeriod, reportMonitor } from '../../core/statistics/reports/build.ts';
import { periodAround } from '../../core/statistics/reports/periods.ts';
import { createApiToken, generateToken } from '../../models/accounts/api-tokens.ts';
import { linkIdentity } from '../../models/accounts/identities.ts';
import { createInvitation, generateInvitationToken } from '../../models/accounts/invitations.ts';
import { createChannel } from '../../models/alerts/channels.ts';
import { insertDeliveries } from '../../models/alerts/deliveries.ts';
import { startDrill, updateDrill } from '../../models/alerts/drills.ts';
import { insertTransitions } from '../../models/incidents/history.ts';
import { addIncidentNote } from '../../models/incidents/notes.ts';
import { failOpenSteps, insertBulkChange, settleBulkChange } from '../../models/monitors/bulk-changes.ts';
import { runOn } from '../../models/sql.ts';
import { insertReport } from '../../models/statistics/reports.ts';
import { agentCaller, type AgentCaller } from '../api/agents/agent-caller.ts';
import type { Account, ApiServer } from '../api/api-server.ts';
import { addPerson, addSession, type Person } from '../api/person.ts';
import { claimNextDelivery, recordAttempt } from '../helpers/deliveries.ts';
import type { DescribedOperation } from '../helpers/described-operations.ts';
import { until } from '../helpers/until.ts';

/** Kinds of resources with an id in an account. */
export type Kind =
  | 'monitor'
  | 'agent'
  | 'channel'
  | 'email_channel'
  | 'delivery'
  | 'drill'
  | 'incident'
  | 'note'
  | 'report'
  | 'session'
  | 'api_token'
  | 'member'
  | 'invitation'
  | 'maintenance'
  | 'bulk_change'
  | 'identity';

/** An account with a resource of every kind. */
export type Furnished = {
  account: Account;
  agent: AgentCaller;
  person: Person;
  ids: Record<Kind, string[]>;
  /** Numbers of its monitors and agents. */ numbers: { monitor: number[]; agent: number[] };
};

const START_MS = Math.floor(Date.now() / 1000) * 1000 - 3_600_000;
const WEEK = periodAround('week', Date.UTC(2026, 2, 4) / 1000);

/** Creates an account in which every customer text contains `mark`: letters, digits and hyphens. */
export async function furnishAccount(api: ApiServer, mark: string): Promise<Furnished> {
  const account = await api.account();
  const agent = await agentCaller(api, account, `agent ${mark}`);
  const monitors = await addMonitors(account, agent, mark);
  const [monitor = ''] = monitors;
  const channel = await addChannel(api, account, mark);
  const emailChannel = await addEmailChannel(api, account, mark);
  const delivery = await addDelivery(api, account, { channel, monitor, mark });
  const drill = await addDrill(api, account, { monitor, mark });
  const { incident, note } = await addIncident(api, account, { monitor, agent, mark });
  const report = await addReport(api, account, { monitor, mark });
  const person = await addPerson(api, account.tenantId, { mark });
  const { sessionId } = await addSession(api, person.user, mark);
  const apiToken = await addToken(api, account, mark);
  const colleague = await addPerson(api, account.tenantId, { role: 'editor', mark: `colleague-${mark}` });
  const invitation = await addInvitation(api, person, mark);
  const identity = await addIdentity(api, person, mark);
  const maintenance = await addMaintenance(account, { monitor, mark });
  const bulkChange = await addBulkChange(api, account, { person, mark });
  const { rows } = await api.database.pool.query<{ no: number }>('SELECT no FROM monitors WHERE tenant_id = $1', [
    account.tenantId,
  ]);
  return {
    account,
    agent,
    person,
    ids: {
      monitor: monitors,
      agent: [agent.id],
      channel: [channel],
      email_channel: [emailChannel],
      delivery: [delivery],
      drill: [drill],
      incident: [incident],
      note: [note],
      report: [report],
      session: [sessionId],
      api_token: [apiToken],
      member: [colleague.user.id],
      invitation: [invitation],
      maintenance: [maintenance],
      bulk_change: [bulkChange],
      identity: [identity],
    },
    numbers: { monitor: rows.map(({ no }) => no), agent: [agent.no] },
  };
}

async function addIdentity(api: ApiServer, { user }: Person, mark: string): Promise<string> {
  const id = api.makeId('idn');
  const identity = { id, issuer: `https://${mark}.example`, subject: id, email: '', nowMs: START_MS };
  await linkIdentity(api.database, { userId: user.id, identity, author: null });
  return id;
}

/** Returns the credentials that a member sends for an operation. */
export function headersOf(
  { account, agent, person }: Furnished,
  token: DescribedOperation['token'],
): Record<string, string> {
  return token === 'session'
    ? person.headers
    : { Authorization: `Bearer ${token === 'agent' ? agent.token : account.ownerToken}` };
}

/** Adds a monitor that the account's agent also checks, a heartbeat, and one that others can depend on. */
async function addMonitors({ owner }: Account, agent: AgentCaller, mark: string): Promise<string[]> {
  const bodies = [
    {
      name: `http ${mark}`,
      target: `https://${mark}.example/${mark}`,
      body_match: mark,
      agent_sources: [agent.id],
      check_spec: {
        request: {
          headers: { 'X-Mark': mark },
          secretHeaders: { 'X-Secret': mark },
          body: mark,
          contentType: `text/${mark}`,
          auth: { type: 'bearer', token: mark },
        },
        assertions: [{ source: 'header', op: 'equals', name: 'X-Mark', value: mark }],
      },
    },
    { name: `heartbeat ${mark}`, type: 'heartbeat' },
    { name: `vendor ${mark}`, type: 'vendor', target: 'github' },
  ];
  const ids: string[] = [];
  for (const body of bodies) {
    const { status, json, text } = await owner('POST', '/v1/monitors', body);
    if (status !== 201) throw new Error(text);
    ids.push(json['id']);
  }
  return ids;
}

/** Adds a recurring window that is in progress, so that each of its operations takes effect. */
async function addMaintenance(
  { owner }: Account,
  { monitor, mark }: { monitor: string; mark: string },
): Promise<string> {
  const { status, json, text } = await owner('POST', '/v1/maintenance-windows', {
    name: `maintenance ${mark}`,
    description: mark,
    monitor_ids: [monitor],
    tags: [mark],
    duration_seconds: 3600,
    rrule: 'FREQ=DAILY',
    key: mark,
  });
  if (status !== 201) throw new Error(text);
  return json.id;
}

async function addToken({ database, makeId }: ApiServer, { tenantId }: Account, mark: string): Promise<string> {
  const id = makeId('tok');
  await createApiToken(
    database,
    {
      id,
      tenantId,
      name: `token ${mark}`,
      token: generateToken('spk'),
      scopes: ['read'],
      expiresAt: null,
      nowMs: START_MS,
      author: null,
    },
    10,
  );
  return id;
}

async function addInvitation({ database, makeId }: ApiServer, { user }: Person, mark: string): Promise<string> {
  const id = makeId('inv');
  await createInvitation(database, {
    id,
    tenantId: user.tenantId,
    email: `${mark}@example.org`,
    role: 'viewer',
    token: generateInvitationToken(),
    invitedBy: user.id,
    nowMs: Date.now(),
    author: null,
  });
  return id;
}

async function addChannel(api: ApiServer, { tenantId }: Account, mark: string): Promise<string> {
  const id = api.makeId('nch');
  const webhook = {
    url: `https://${mark}.example/${mark}`,
    signingSecret: `whsec_${Buffer.from(mark).toString('base64')}`,
  };
  await createChannel(api.database, {
    id,
    tenantId,
    type: 'webhook',
    name: `channel ${mark}`,
    status: 'connected',
    allMonitors: true,
    monitorIds: [],
    webhook,
    nowMs: START_MS,
    author: null,
  });
  return id;
}

/** Adds an email channel that awaits its confirmation. */
async function addEmailChannel(api: ApiServer, { tenantId }: Account, mark: string): Promise<string> {
  const id = api.makeId('nch');
  await createChannel(api.database, {
    id,
    tenantId,
    type: 'email',
    name: `email ${mark}`,
    status: 'pending',
    address: `${mark}@customer.example`,
    allMonitors: true,
    monitorIds: [],
    nowMs: START_MS,
    author: null,
  });
  return id;
}

async function addDelivery(
  api: ApiServer,
  { tenantId }: Account,
  { channel, monitor, mark }: { channel: string; monitor: string; mark: string },
): Promise<string> {
  const id = api.makeId('dlv');
  const message = { ...buildTestMessage({ nowMs: START_MS, publicUrl: api.url }), reason: `reason ${mark}` };
  await insertDeliveries(runOn(api.database.pool), [
    { id, tenantId, channelId: channel, monitorId: monitor, message, createdAtMs: START_MS },
  ]);
  await claimNextDelivery(api.database, channel, { nowMs: START_MS, claimMs: 1000 });
  await recordAttempt(api.database, {
    deliveryId: id,
    attempt: 1,
    outcome: 'failed',
    statusCode: 404,
    durationMs: 40,
    error: `error ${mark}`,
    response: `response ${mark}`,
    finishedAtMs: START_MS + 1000,
    nextAttemptAtMs: null,
  });
  return id;
}

/** Adds a drill that has ended; messages of drills name it. */
async function addDrill(
  { database, makeId }: ApiServer,
  { tenantId }: Account,
  { monitor, mark }: { monitor: string; mark: string },
): Promise<string> {
  const started = await startDrill(database, {
    id: makeId('drl'),
    incidentId: makeId('inc'),
    tenantId,
    monitorId: monitor,
    isMonthly: false,
    requestKey: mark,
    nowMs: START_MS,
    author: null,
  });
  if (!('drill' in started)) throw new Error(JSON.stringify(started.refusal));
  await updateDrill(runOn(database.pool), { ...started.drill, status: 'ended', endedAtMs: START_MS + 30_000 });
  return started.drill.id;
}

async function addIncident(
  api: ApiServer,
  { tenantId }: Account,
  { monitor, agent, mark }: { monitor: string; agent: AgentCaller; mark: string },
): Promise<{ incident: string; note: string }> {
  const { pool } = api.database;
  const [incident, note] = [api.makeId('inc'), api.makeId('note')];
  await insertTransitions(runOn(pool), [
    {
      monitorId: monitor,
      tenantId,
      sequence: 1,
      from: 'pending',
      to: 'down',
      atMs: START_MS,
      detectedAtMs: START_MS,
      cause: 'timeout',
      reason: `reason ${mark}`,
      evidence: {},
    },
  ]);
  await pool.query(`UPDATE monitors SET state = 'down', state_since = $2, sequence = 1 WHERE id = $1`, [
    monitor,
    START_MS,
  ]);
  await pool.query(
    `INSERT INTO incidents (id, tenant_id, monitor_id, monitor_name, state, reason, sources_down, started_at,
     detected_at) VALUES ($1, $2, $3, $4, 'down', $5, $6, $7, $7)`,
    [incident, tenantId, monitor, `http ${mark}`, `reason ${mark}`, [`place ${mark}`], START_MS],
  );
  await pool.query(
    `INSERT INTO incident_evidence (incident_id, agent_no, source_id, source_name, at, verdict, cause, reason)
     VALUES ($1, $2, $3, $4, $5, 'down', 'timeout', $6)`,
    [incident, agent.no, agent.id, `place ${mark}`, START_MS, `reason ${mark}`],
  );
  await pool.query(
    `INSERT INTO check_results (due_at, monitor_no, agent_no, verdict)
     SELECT $1, no, $3, 1 FROM monitors WHERE id = $2`,
    [Date.now() - 1000, monitor, agent.no],
  );
  await addIncidentNote(
    api.database,
    { tenantId, id: incident, author: null },
    { id: note, author: `author ${mark}`, text: `note ${mark}`, createdAtMs: START_MS },
  );
  return { incident, note };
}

/** Time for which the server does not take over a claim, in milliseconds: a little less than its own. */
const CLAIM_MS = 15_000;

/** Adds a completed bulk change of monitors that have been deleted since. */
async function addBulkChange(
  { database, makeId }: ApiServer,
  { tenantId }: Account,
  { person, mark }: { person: Person; mark: string },
): Promise<string> {
  const id = makeId('blk');
  const change = await insertBulkChange(database, {
    id,
    tenantId,
    key: { text: mark, requestHash: Buffer.from(mark) },
    order: { action: 'patch', patch: { name: mark } },
    actor: { kind: 'user', id: person.user.id, name: `person ${mark}` },
    address: null,
    monitors: Array.from({ length: MAX_AT_ONCE + 1 }, () => ({ monitorId: makeId('mon'), name: `gone ${mark}` })),
    nowMs: START_MS,
  });
  if (typeof change === 'string') throw new Error(change);
  // Whoever claims the change completes it: this test, unless the server was faster.
  const { rowCount } = await database.pool.query(
    'UPDATE bulk_changes SET claimed_until = $2 WHERE id = $1 AND claimed_until = 0 AND served_at = $3',
    [id, Date.now() + CLAIM_MS, START_MS],
  );
  if (rowCount === 1) {
    await failOpenSteps(database, { change, status: 404, error: `error ${mark}` });
    await settleBulkChange(database, change, START_MS);
  } else
    await until(async () => {
      const { rows } = await database.pool.query(`SELECT FROM bulk_changes WHERE id = $1 AND status = 'done'`, [id]);
      return rows.length > 0;
    });
  return id;
}

async function addReport(
  api: ApiServer,
  { tenantId }: Account,
  { monitor, mark }: { monitor: string; mark: string },
): Promise<string> {
  const id = api.makeId('rep');
  const facts = {
    monitor: { id: monitor, name: `http ${mark}`, type: 'http' as const, slaTarget: 99.9, sla: null, createdAtMs: 0 },
    transitions: [],
    maintenance: [],
    retroactive: [],
    days: [],
    incidents: NO_INCIDENTS,
  };
  const report = buildReport(WEEK, [await reportMonitor(reportedPeriod(WEEK, []), facts)], { incidents: [], gaps: [] });
  await insertReport(runOn(api.database.pool), {
    id,
    tenantId,
    window: WEEK,
    ...report,
    nowMs: WEEK.endSeconds * 1000,
  });
  return id;
}
