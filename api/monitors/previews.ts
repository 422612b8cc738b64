import { setTimeout as pause } from 'node:timers/promises';
import type { PreviewOutcome } from '../../core/checks/preview.ts';
import { isScheduled } from '../../core/checks/slots.ts';
import { writeZonedMoment, type ZonedMoment } from '../../core/heartbeats/schedule.ts';
import type { MonitorDraft } from '../../core/monitors/input/complete.ts';
import type { MonitorBody } from '../../core/monitors/input/fields.ts';
import { readMonitorCreate, readMonitorPatch } from '../../core/monitors/input/read.ts';
import { checkTargetOf, isAgentChecked, type CheckTarget, type MonitorType } from '../../core/monitors/monitor.ts';
import { listAgents } from '../../models/agents/agents.ts';
import { openPreviewOutcome, sealPreviewTarget } from '../../models/checks/sealed-jobs.ts';
import type { Database } from '../../models/database.ts';
import { readSchedule, runScheduleOf } from '../../models/heartbeats/schedule.ts';
import { findWholeMonitor } from '../../models/monitors/monitors.ts';
import type { JobQueues } from '../../queues/job-queues.ts';
import { SERVICE_REGION } from '../../queues/payloads.ts';
import { ApiError, accept, badRequest, conflict } from '../api-error.ts';
import { presentTimings } from '../checks/checks.ts';
import type { Handler, Parts, PreviewInput } from '../handler.ts';
import { presentAnswerEvidence } from '../incidents/presenter.ts';
import { callerOf, isId, type Caller } from '../request-context.ts';
import type { components } from '../schema.generated.ts';
import { draftOf, loadMonitorContext } from './monitor-context.ts';

/** Number of runs in the preview of a schedule. */
const RUNS_SHOWN = 5;

/** `POST /trials` */
export function previewMonitorHandler(
  dependencies: Parts<'runPreview' | 'rateLimits' | 'logger'> & PreviewParts,
): Handler<'tryMonitor'> {
  const { runPreview, rateLimits, logger } = dependencies;
  return async (request, response) => {
    const caller = callerOf(response);
    await rateLimits.take('preview', caller.tenantId);
    const { region, target } = await readPreview(dependencies, caller, request.body);
    const outcome = await runPreview(region, { tenantId: caller.tenantId, target }).catch((error: unknown) => {
      logger.warn({ err: error, region }, 'preview.not_queued');
      throw new ApiError(503, 'the queue is unavailable: try again', { 'Retry-After': '5' });
    });
    const sharedRegion = region === SERVICE_REGION ? null : region;
    if (outcome === null)
      throw new ApiError(
        503,
        `${sharedRegion === null ? 'the service' : `the shared agent of ${sharedRegion}`} did not respond in ` +
          'time: try again',
        { 'Retry-After': '5' },
      );
    response.json(presentPreview(outcome, sharedRegion));
  };
}

/** Returns the outcome of a preview for responses; a null region means that the service itself checked. */
function presentPreview(
  { answer, phases, certificate, ...outcome }: PreviewOutcome,
  region: string | null,
): components['schemas']['Trial'] {
  return {
    region,
    verdict: outcome.verdict,
    cause: outcome.cause,
    reason: outcome.reason,
    latency_ms: outcome.latencyMs,
    http_status: outcome.httpStatus,
    phases: phases && presentTimings(phases),
    answer: answer && presentAnswerEvidence(answer),
    certificate: certificate && {
      subject: certificate.subject,
      issuer: certificate.issuer,
      valid_from: certificate.validFrom,
      valid_to: certificate.validTo,
    },
    conditions: outcome.conditions,
    facts: outcome.facts,
  };
}

/** The validated body of a preview. */
type PreviewBody = { monitor_id?: string; region?: string; monitor?: MonitorBody };

/** The target of the probe, and the region whose check process runs it. */
type PreviewRequest = { target: CheckTarget; region: string };

type PreviewParts = Parts<'database' | 'readVendorPage' | 'now' | 'makeId' | 'config'>;

/** A preview is already counted, so reading a page for it is not counted again. */
const COUNTED = { rateLimits: null };

/** Name of an unnamed draft: a monitor can be previewed before it is named. */
const UNNAMED = 'Preview';

/**
 * Time without a sign of life after which a shared agent counts as away, in seconds: `last_seen_at` is updated every
 * 15.
 */
const AT_WORK_SECONDS = 60;

/**
 * Reads the monitor to preview like a creation or a PATCH, and chooses its region. Throws the same 400 as those, and
 * 409 if there is no region or nothing to preview.
 */
async function readPreview(parts: PreviewParts, caller: Caller, body: PreviewBody): Promise<PreviewRequest> {
  const { settings, secrets, agentSources } = await readDraft(parts, caller, body);
  requireProbed(settings.type);
  if (!isScheduled({ ...settings, enabled: true }))
    throw badRequest('target is required: without one there is nothing to preview');
  const { type } = settings;
  const hasStoredSecrets = body.monitor_id !== undefined && Object.keys(secrets).length > 0;
  const wanted: Wanted = { caller, agentSources, namedRegion: body.region, hasStoredSecrets };
  const region = isAgentChecked(type) ? await chooseRegion(parts, wanted) : SERVICE_REGION;
  if (region === SERVICE_REGION && body.region !== undefined)
    throw badRequest(`region must be omitted: monitors of type ${type} are checked by the service itself`);
  return { region, target: { ...checkTargetOf(settings, secrets), isShown: true } };
}

/**
 * Reads a draft alone, or applied as a PATCH to a stored monitor. In the second case it has the monitor's secrets, as
 * far as the PATCH keeps them.
 */
async function readDraft(
  parts: PreviewParts,
  caller: Caller,
  { monitor_id: id, monitor }: PreviewBody,
): Promise<MonitorDraft> {
  if (id === undefined) {
    if (monitor === undefined) throw badRequest('monitor is required, or monitor_id of an existing monitor');
    const context = await loadMonitorContext(
      { ...parts, ...COUNTED },
      { account: caller, monitorId: parts.makeId('mon'), body: monitor, isNew: true },
    );
    return accept(readMonitorCreate({ name: UNNAMED, ...monitor }, context));
  }
  const found = isId(id) ? await findWholeMonitor(parts.database, { tenantId: caller.tenantId, id }) : null;
  if (found === null) throw badRequest('monitor_id must be the id of a monitor of this account');
  requireProbed(found.monitor.type);
  if (monitor === undefined) return draftOf(found);
  const context = await loadMonitorContext(
    { ...parts, ...COUNTED },
    { account: caller, monitorId: id, body: monitor, isNew: false },
  );
  return accept(readMonitorPatch(monitor, { current: draftOf(found), context }));
}

function requireProbed(type: MonitorType): void {
  if (type === 'heartbeat') throw conflict('heartbeat monitors wait for pings: there is nothing to preview');
}

/**
 * Criteria for the region: the sources of the draft, the requested region, and whether stored secrets are sent there.
 */
type Wanted = {
  caller: Caller;
  agentSources: readonly string[];
  namedRegion: string | undefined;
  hasStoredSecrets: boolean;
};

/** Returns the requested region, or else that of one of the draft's sources; only shared agents run previews. */
async function chooseRegion(
  { database, now }: PreviewParts,
  { caller, agentSources, namedRegion, hasStoredSecrets }: Wanted,
): Promise<string> {
  const shared = await listAgents(database, { tenantId: caller.tenantId, filter: { kind: 'first_party' } });
  const atWork = shared.filter(({ lastSeenAt }) => lastSeenAt !== null && lastSeenAt >= now() / 1000 - AT_WORK_SECONDS);
  if (namedRegion === undefined && hasStoredSecrets && !shared.some(({ id }) => agentSources.includes(id))) {
    throw badRequest(
      'region is required: no shared agent checks this monitor, and its stored secrets are sent to one only if ' +
        'the request names it',
    );
  }
  const regions = shared.flatMap(({ region }) => region ?? []);
  if (namedRegion !== undefined && !regions.includes(namedRegion))
    throw badRequest(
      `region must be one of ${regions.join(', ') || '(there are none yet)'}, got ${JSON.stringify(namedRegion)}`,
    );
  const chosen =
    namedRegion === undefined
      ? (atWork.find(({ id }) => agentSources.includes(id)) ?? atWork[0])
      : atWork.find(({ region }) => region === namedRegion);
  const region = chosen?.region ?? null;
  if (region === null)
    throw conflict(
      namedRegion === undefined
        ? 'no shared agent is online: try again later'
        : `the shared agent of ${namedRegion} is offline: choose another region`,
    );
  return region;
}

/** `POST /monitors/schedule-preview` */
export function previewScheduleHandler({ now }: Parts<'now'>): Handler<'previewSchedule'> {
  return async (request, response) => {
    const nowMs = now();
    const read = readSchedule(request.body, nowMs);
    if (!read.ok) throw badRequest(read.message);
    const { cron, timezone, early_seconds: earlySeconds } = read.schedule;
    const { runAfter } = runScheduleOf(cron, timezone, earlySeconds);
    const runs: ZonedMoment[] = [];
    for (let run = runAfter(nowMs); run !== null && runs.length < RUNS_SHOWN; run = runAfter(run))
      runs.push(writeZonedMoment(run, timezone));
    response.json({ schedule: read.schedule, runs });
  };
}

type PreviewRunOptions = {
  database: Pick<Database, 'secrets'>;
  queues: Pick<JobQueues, 'enqueuePreview' | 'takePreviewReturn'>;
  /** Makes an id that is unique among previews. */
  makePreviewId: () => string;
  now: () => number;
};

/** Time limit of a preview, in milliseconds: longer than any probe takes, and no longer than people wait. */
const PATIENCE_MS = 30_000;

/** Intervals of polling the job grow from the first to the longest, in milliseconds: most targets respond at once. */
const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 300;

/**
 * Makes the function that has the check process of a region probe a target once, and waits for the outcome. Null if the
 * process did not respond in time, or could not.
 */
export function createPreviewRun({
  database,
  queues,
  makePreviewId,
  now,
}: PreviewRunOptions): (region: string, preview: PreviewInput) => Promise<PreviewOutcome | null> {
  return async (region, { tenantId, target }) => {
    const previewId = makePreviewId();
    const startMs = now();
    const untilMs = startMs + PATIENCE_MS;
    await queues.enqueuePreview(region, {
      trialId: previewId,
      tenantId,
      sealedTarget: sealPreviewTarget(database, previewId, target),
      untilMs,
    });
    for (
      let waitMs = FIRST_WAIT_MS;
      Math.abs(now() - startMs) < PATIENCE_MS;
      waitMs = Math.min(LONGEST_WAIT_MS, waitMs * 1.5)
    ) {
      await pause(waitMs);
      const returned = await queues.takePreviewReturn(region, previewId);
      if (returned !== undefined) return returned && openPreviewOutcome(database, previewId, returned.sealedOutcome);
    }
    return null;
  };
}
