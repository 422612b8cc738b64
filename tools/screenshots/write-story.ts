import type { Installation } from '../../bench/harness/installation.ts';
import { endedPeriods } from '../../core/statistics/reports/periods.ts';
import { DAY_MS, HOUR_MS } from '../../core/time.ts';
import { registerSharedAgent, updateLastSeenAt } from '../../models/agents/shared-agents.ts';
import { createChannel } from '../../models/alerts/channels.ts';
import { storeResults, type MeasuredResult } from '../../models/checks/check-results.ts';
import { insertTransitions, type NewTransition } from '../../models/incidents/history.ts';
import { addIncidentNote } from '../../models/incidents/notes.ts';
import type { IdPrefix } from '../../models/secrets/ids.ts';
import { runOn } from '../../models/sql.ts';
import { beginRollups, rollNextHour } from '../../models/statistics/rollups.ts';
import { createPartitions, createRollupPartitions } from '../../models/system/partitions.ts';
import { claimNextDelivery, recordAttempt } from '../../test/helpers/deliveries.ts';
import { createEvaluator } from '../../workers/incidents/evaluate.ts';
import { makeReport } from '../../workers/statistics/reports.ts';
import {
  AGE_MS,
  answerMs,
  CHECKED_MS,
  createNoise,
  MONITORS,
  LOCATIONS,
  OUTCOMES,
  type StoryMonitor,
  type Trouble,
} from './story.ts';

/** Ids of the objects in the pictures. */
export type Written = { monitorId: string; incidentId: string; channelId: string; reportId: string };

type Tools = { installation: Installation; url: string; newId: (prefix: IdPrefix) => string };
type Made = { story: StoryMonitor; id: string; no: number; sources: readonly number[] };
type Agent = { no: number; location: (typeof LOCATIONS)[number] };

const INTERVAL_MS = 300_000;
/** Length of the last period, whose results pass through the evaluator, which decides and alerts. */
const DECIDED_MS = 26 * HOUR_MS;
const ROWS_AT_ONCE = 5000;

/**
 * Writes the story into an empty installation with its API at `url`: monitors with their past, deliveries and reports.
 */
export async function writeStory({ installation, url, newId }: Tools): Promise<Written> {
  const { database, tenantId } = installation;
  const run = runOn(database.pool);
  const nowMs = Math.floor(Date.now() / INTERVAL_MS) * INTERVAL_MS;
  for (let atMs = nowMs - CHECKED_MS; atMs <= nowMs; atMs += DAY_MS) {
    await createPartitions(database, atMs);
    await createRollupPartitions(database, atMs);
  }
  await run(`UPDATE tenants SET name = 'Northwind', created_at = $2 WHERE id = $1`, [
    tenantId,
    Math.floor((nowMs - AGE_MS) / 1000),
  ]);
  const agents: Agent[] = [];
  for (const location of LOCATIONS)
    agents.push({
      location,
      no: (
        await registerSharedAgent(database, {
          newId: newId('agt'),
          region: location,
          version: '0.1.0',
          arch: 'x64',
          nowMs: nowMs - AGE_MS,
        })
      ).no,
    });
  const monitors = await makeMonitors({ installation, url, newId }, nowMs);
  const { webhook: channelId, chat } = await makeChannels({ installation, url, newId }, nowMs - AGE_MS);
  await writePast(installation, monitors, nowMs);
  await beginRollups(run, nowMs - CHECKED_MS);
  await check({ installation, url, newId }, { monitors, agents, nowMs });
  for (const id of [channelId, chat]) await deliver(installation, id);
  const paused = monitors.find(({ story }) => story.isPaused);
  if (paused !== undefined) await ask({ installation, url }, `/monitors/${paused.id}/pause`);
  while ((await rollNextHour(database, nowMs + 600_000)).outcome === 'rolled');
  for (const window of endedPeriods(nowMs))
    await makeReport({ database, newId, publicUrl: url }, { tenantId, window, nowMs, isNotified: false });
  for (const { no } of agents) await updateLastSeenAt(database, no, Date.now());
  return await findWritten({ installation, url, newId }, { monitors, channelId });
}

async function ask(
  { installation, url }: Pick<Tools, 'installation' | 'url'>,
  path: string,
  body: object = {},
): Promise<Record<string, unknown>> {
  const response = await fetch(`${url}/v1${path}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${installation.token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`POST ${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as Record<string, unknown>;
}

async function makeMonitors(tools: Tools, nowMs: number): Promise<Made[]> {
  const made: Made[] = [];
  for (const story of MONITORS) {
    const { id } = await ask(tools, '/monitors', { interval_seconds: INTERVAL_MS / 1000, ...story.settings });
    const [row] = await runOn(tools.installation.database.pool)<Pick<Made, 'no' | 'sources'>>(
      `UPDATE monitors SET created_at = $2, updated_at = $2 WHERE id = $1
       RETURNING no, ARRAY(SELECT agent_no FROM monitor_sources WHERE monitor_no = no) AS sources`,
      [id, Math.floor((nowMs - AGE_MS) / 1000)],
    );
    made.push({ story, id: String(id), no: row?.no ?? 0, sources: row?.sources ?? [] });
  }
  return made;
}

async function makeChannels(
  { installation: { database, tenantId }, newId }: Tools,
  nowMs: number,
): Promise<{ webhook: string; chat: string }> {
  const [webhook, chat, team] = [newId('nch'), newId('nch'), newId('nch')];
  const common = { tenantId, status: 'connected' as const, allMonitors: true, monitorIds: [], nowMs };
  await createChannel(database, {
    ...common,
    id: webhook,
    type: 'webhook',
    name: 'On-call',
    webhook: {
      url: 'https://alerts.northwind.example/spotcheck',
      signingSecret: `whsec_${Buffer.from('not a secret at all, in a picture').toString('base64')}`,
    },
    author: null,
  });
  await createChannel(database, {
    ...common,
    id: chat,
    type: 'telegram',
    name: 'Operations',
    wantsReports: true,
    author: null,
  });
  await createChannel(database, { ...common, id: team, type: 'slack', name: 'Team', status: 'pending', author: null });
  return { webhook, chat };
}

/** Writes the time before the stored checks: transitions, and the incidents that they opened. */
async function writePast(
  { database, tenantId }: Installation,
  monitors: readonly Made[],
  nowMs: number,
): Promise<void> {
  const transitions: NewTransition[] = [];
  for (const { story, id } of monitors) {
    const ends = { monitorId: id, tenantId, cause: null, reason: null, evidence: {} };
    const steps: NewTransition[] = [
      { ...ends, sequence: 1, from: 'pending', to: 'up', atMs: nowMs - AGE_MS, detectedAtMs: nowMs - AGE_MS },
    ];
    for (const { agoMinutes, lastsMinutes, kind } of story.troubles.toSorted((a, b) => b.agoMinutes - a.agoMinutes)) {
      const fromMs = nowMs - agoMinutes * 60_000;
      if (story.levelMs !== null && fromMs > nowMs - DECIDED_MS) continue;
      const { verdict, cause, reason } = OUTCOMES[kind];
      const toMs = fromMs + lastsMinutes * 60_000;
      steps.push({
        ...ends,
        sequence: steps.length + 1,
        from: 'up',
        to: verdict,
        atMs: fromMs,
        detectedAtMs: fromMs + 60_000,
        cause,
        reason,
      });
      steps.push({ ...ends, sequence: steps.length + 1, from: verdict, to: 'up', atMs: toMs, detectedAtMs: toMs });
    }
    transitions.push(...steps);
    await runOn(database.pool)(`UPDATE monitors SET state = 'up', state_since = $2, sequence = $3 WHERE id = $1`, [
      id,
      steps.at(-1)?.atMs,
      steps.length,
    ]);
  }
  await insertTransitions(runOn(database.pool), transitions);
  await runOn(database.pool)(
    `INSERT INTO incidents (id, tenant_id, monitor_id, monitor_name, state, reason, sources_down, started_at,
     detected_at, resolved_at, resolution)
     SELECT 'inc_' || lower(md5(t.monitor_id || t.sequence)), t.tenant_id, t.monitor_id, m.name, t.to_state, t.reason,
       '{frankfurt,virginia}', t.at, t.detected_at, e.at, 'recovered'
     FROM transitions t JOIN transitions e ON e.monitor_id = t.monitor_id AND e.sequence = t.sequence + 1
       JOIN monitors m ON m.id = t.monitor_id WHERE t.to_state IN ('down', 'degraded')`,
  );
}

/** Writes every check of the last days: older ones as stored rows, the newest through the evaluator. */
async function check(
  { installation, url, newId }: Tools,
  { monitors, agents, nowMs }: { monitors: readonly Made[]; agents: readonly Agent[]; nowMs: number },
): Promise<void> {
  const { database } = installation;
  const random = createNoise();
  const clock = { ms: 0 };
  const decide = createEvaluator({ database, now: () => clock.ms, newId, publicUrl: url });
  let stored: MeasuredResult[] = [];
  for (let atMs = nowMs - CHECKED_MS; atMs <= nowMs; atMs += INTERVAL_MS) {
    const results = monitors.flatMap((monitor) => checksOf(monitor, { agents, atMs, nowMs, random }));
    if (atMs > nowMs - DECIDED_MS) {
      clock.ms = atMs + 1000;
      await decide(results);
      continue;
    }
    stored.push(...results);
    if (stored.length > ROWS_AT_ONCE || atMs + INTERVAL_MS > nowMs - DECIDED_MS) {
      await storeResults(runOn(database.pool), stored);
      stored = [];
    }
  }
}

function checksOf(
  { story, no, sources }: Made,
  {
    agents,
    atMs,
    nowMs,
    random,
  }: { agents: readonly Agent[]; atMs: number; nowMs: number; random: ReturnType<typeof createNoise> },
): MeasuredResult[] {
  const { levelMs, troubles, settings } = story;
  // Registries are queried once an hour.
  if (levelMs === null || (settings.type === 'domain' && atMs % HOUR_MS !== 0)) return [];
  const minutes = (nowMs - atMs) / 60_000;
  const trouble =
    troubles.find(({ agoMinutes, lastsMinutes }) => minutes <= agoMinutes && minutes > agoMinutes - lastsMinutes) ??
    (minutes === 0 ? troubles.find(({ agoMinutes, lastsMinutes }) => agoMinutes === lastsMinutes) : undefined);
  // The service itself queries name servers and registries, from the first location.
  const isShared = settings.type === 'dns' || settings.type === 'domain';
  const asking = isShared ? sources.map((source) => ({ no: source, location: LOCATIONS[0] })) : agents;
  return asking.map(({ no: agentNo, location }) => {
    const took = answerMs(random, { levelMs, atMs, location });
    // One location does not notice the outage, which is why there are several.
    const symptom = trouble !== undefined && location !== 'singapore' ? OUTCOMES[trouble.kind] : null;
    const latencyMs = symptom === null ? took : symptom.latencyMs;
    const phases =
      latencyMs !== null && settings.type === undefined && atMs % 600_000 === 0 ? timingsOf(latencyMs) : null;
    const common = { monitorNo: no, agentNo, dueAtMs: atMs, checksVersion: 1, latencyMs, phases };
    if (symptom === null)
      return {
        ...common,
        verdict: 'up',
        cause: null,
        reason: null,
        httpStatus: settings.type === undefined ? 200 : null,
        answer: null,
      };
    return {
      ...common,
      verdict: symptom.verdict,
      cause: symptom.cause,
      reason: symptom.reason,
      httpStatus: symptom.httpStatus,
      answer: answerOf(trouble?.kind),
    };
  });
}

function timingsOf(ms: number) {
  const share = (part: number) => Math.max(1, Math.round(ms * part));
  return {
    dnsMs: share(0.06),
    connectMs: share(0.14),
    tlsMs: share(0.22),
    firstByteMs: share(0.5),
    downloadMs: share(0.08),
  };
}

function answerOf(kind: Trouble | undefined): MeasuredResult['answer'] {
  if (kind !== 'unavailable') return null;
  return {
    status: 503,
    headers: { 'content-type': 'application/json', 'retry-after': '30', server: 'envoy' },
    body: '{"status":"unavailable","reason":"no healthy upstream: inventory"}',
  };
}

/** Marks all pending deliveries as delivered, except one that took a second attempt. */
async function deliver({ database }: Installation, channelId: string): Promise<void> {
  const nowMs = Date.now();
  for (let number = 0; ; number += 1) {
    const claimed = await claimNextDelivery(database, channelId, { nowMs, claimMs: 10_000 });
    if (claimed === null) break;
    const isTried = number % 5 === 1 && claimed.attempt === 1;
    await recordAttempt(database, {
      deliveryId: claimed.deliveryId,
      attempt: claimed.attempt,
      outcome: isTried ? 'retry' : 'delivered',
      statusCode: isTried ? 502 : 204,
      durationMs: 80 + 7 * (number % 9),
      error: isTried ? 'answered with 502' : null,
      response: null,
      finishedAtMs: nowMs,
      nextAttemptAtMs: isTried ? nowMs : null,
    });
  }
}

async function findWritten(
  { installation: { database, tenantId }, newId }: Tools,
  { monitors, channelId }: { monitors: readonly Made[]; channelId: string },
): Promise<Written> {
  const run = runOn(database.pool);
  const monitorId = monitors[0]?.id ?? '';
  const [incident] = await run<{ id: string }>(
    'UPDATE incidents SET acknowledged_at = detected_at + 240000, acknowledged_by = $2 WHERE monitor_id = $1 AND ' +
      'resolved_at IS NULL RETURNING id',
    [monitorId, 'Ada Park'],
  );
  const [report] = await run<{ id: string }>(
    `SELECT id FROM reports WHERE tenant_id = $1 ORDER BY period = 'week' DESC, period_start DESC LIMIT 1`,
    [tenantId],
  );
  if (incident === undefined || report === undefined) throw new Error('The story has no open incident, or no report');
  await addIncidentNote(
    database,
    { tenantId, id: incident.id, author: null },
    {
      id: newId('note'),
      author: 'Ada Park',
      text: 'The inventory service refuses connections since the last deploy. Rolling back to 4.12.',
      createdAtMs: Date.now() - 900_000,
    },
  );
  return { monitorId, incidentId: incident.id, channelId, reportId: report.id };
}
