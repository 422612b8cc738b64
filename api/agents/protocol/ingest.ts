import type { RequestHandler } from 'express';
import { Counter, type Registry } from 'prom-client';
import { judgeReport } from '../../../core/agents/judge-report.ts';
import { readIngest, type Report } from '../../../core/agents/requests.ts';
import { isBeforeCreation, sortByAge } from '../../../core/agents/result-limit.ts';
import { findInability, type IngestAnswer } from '../../../core/agents/wire.ts';
import { hintRecheck } from '../../../core/checks/recheck.ts';
import { isBad } from '../../../core/checks/verdict.ts';
import { cleanAnswer, roundTimings, storesTimings } from '../../../core/incidents/evidence.ts';
import { latestStartMs } from '../../../core/incidents/source-state.ts';
import { isRecord } from '../../../core/input.ts';
import type { FailedCheck } from '../../../core/system/otlp.ts';
import { HOUR_MS } from '../../../core/time.ts';
import {
  listRecheckedSources,
  listReportedMonitors,
  type ReportedMonitor,
  type TokenAgent,
} from '../../../models/agents/protocol.ts';
import { storeCertificates, type ObservedCertificate } from '../../../models/checks/checks.ts';
import type { Database } from '../../../models/database.ts';
import { traceIdsOf } from '../../../models/secrets/ids.ts';
import type { ResultPayload } from '../../../queues/payloads.ts';
import { ApiError, accept } from '../../api-error.ts';
import type { Parts } from '../../handler.ts';
import { agentOf, invalidAgentToken } from './authentication.ts';
import { createResultBatches, createResultIntake, type AcceptedReport, type AssignedReport } from './result-intake.ts';

/** `POST /agent/v1/ingest`: accepts an agent's results and submits the new ones to the same queue as the fleet's. */
export function ingestHandler(
  dependencies: Parts<'database' | 'logger' | 'metrics' | 'now' | 'submitResults' | 'recordFailedCheck'>,
): RequestHandler {
  const { database, metrics, now, recordFailedCheck } = dependencies;
  const submit = createSubmission(dependencies);
  const takeIn = createResultIntake(database);
  const countOutcomes = createOutcomeCounter(metrics);
  return async (request, response) => {
    const agent = agentOf(response);
    const nowMs = now();
    const { timely, future, tooOld: outdated } = sortByAge(accept(readIngest(request.body)), nowMs);
    const monitors =
      timely.length === 0
        ? new Map<string, ReportedMonitor>()
        : await listReportedMonitors(database, agent, [...new Set(timely.map(({ monitorId }) => monitorId))]);
    if (monitors === null) throw invalidAgentToken();
    const assigned = timely.flatMap((report): AssignedReport[] => {
      const monitor = monitors.get(report.monitorId);
      return monitor === undefined ? [] : [{ report, monitor }];
    });
    const measured = assigned.filter(({ report, monitor }) => !isBeforeCreation(report, monitor.createdAtMs, nowMs));
    let submitted: AcceptedReport[] = [];
    let recheck: IngestAnswer['recheck'] = [];
    const accepted = await takeIn({ agentNo: agent.no, nowMs }, measured, async ({ taken, fresh }) => {
      const all = taken.map((one) => ({
        ...one,
        isFresh: fresh.has(one),
        result: resultOf(one.report, { ...one, agent, nowMs }),
      }));
      submitted = all.filter(({ isFresh }) => isFresh);
      // Rechecks are listed before submission: once the results are applied, none of them is a change.
      recheck = await listRechecks(database, agent.no, all);
      if (submitted.length > 0) await submit(agent, submitted);
    });
    if (recordFailedCheck !== null) for (const failed of failedChecks(submitted, agent)) recordFailedCheck(failed);
    const certificates = newCertificates(submitted, agent.no, nowMs);
    if (certificates.length > 0) await storeCertificates(database, certificates);

    const droppedBecause = {
      notAssigned: timely.length - assigned.length,
      future,
      tooOld: outdated + assigned.length - measured.length,
      tooMany: measured.length - accepted,
    };
    countOutcomes(accepted, droppedBecause);
    const dropped = Object.values(droppedBecause).reduce((sum, results) => sum + results, 0);
    const answer: IngestAnswer = { accepted, dropped, droppedBecause, recheck };
    response.json(answer);
  };
}

/** Makes the function that submits an agent's results to the queue; rejects with 503 if the queue refuses them. */
function createSubmission({ logger, submitResults }: Parts<'logger' | 'submitResults'>) {
  const submit = createResultBatches(submitResults);
  return async ({ id, tenantId }: TokenAgent, accepted: readonly AcceptedReport[]): Promise<void> => {
    const results = accepted.map(({ result }) => result);
    try {
      await submit(tenantId, results);
    } catch (error) {
      logger.warn({ err: error, agent_id: id }, 'agent.results_not_taken');
      if (error instanceof ApiError) throw error;
      throw new ApiError(503, 'the queue is unavailable: send these results again', { 'Retry-After': '5' });
    }
  };
}

/** Makes the function that counts the results of a request, by outcome. */
function createOutcomeCounter(metrics: Registry) {
  const count = new Counter({
    name: 'spotcheck_agent_results_total',
    help: 'Results received from private agents, by outcome',
    labelNames: ['outcome'],
    registers: [metrics],
  });
  return (accepted: number, { notAssigned, future, tooOld, tooMany }: IngestAnswer['droppedBecause']): void => {
    const outcomes = { accepted, not_assigned: notAssigned, future, too_old: tooOld, too_many: tooMany };
    for (const [outcome, results] of Object.entries(outcomes)) count.inc({ outcome }, results);
  };
}

function resultOf(
  report: Report,
  { monitor, agent, nowMs }: { monitor: ReportedMonitor; agent: TokenAgent; nowMs: number },
): ResultPayload {
  const judgement = judgeReport(report, { name: agent.name, inability: findInability(agent, monitor) });
  const { verdict } = judgement;
  const { startedAtMs: dueAtMs, latencyMs, httpStatus, timing, answer } = report;
  const mostMs = mostMsOf(monitor);
  return {
    monitorNo: monitor.no,
    agentNo: agent.no,
    checksVersion: measuredVersion(report, monitor),
    dueAtMs,
    finishedAtMs: nowMs,
    ...judgement,
    latencyMs: latencyMs === null ? null : Math.min(latencyMs, mostMs),
    httpStatus,
    phases:
      isRecord(timing) && storesTimings({ verdict, dueAtMs }, monitor.intervalSeconds)
        ? roundTimings(withWait(timing), mostMs)
        : null,
    answer: isBad(verdict) ? cleanAnswer(answer, { status: httpStatus, hasSecrets: monitor.hasSecrets }) : null,
  };
}

/** Third-party agents use another name for the wait for the first byte. */
function withWait({ waitMs, ...timing }: Record<string, unknown>): Record<string, unknown> {
  return { ...timing, firstByteMs: timing['firstByteMs'] ?? waitMs };
}

/** Returns the longest plausible time of a check, in milliseconds: its deadline plus the delay of a busy machine. */
function mostMsOf({ timeoutMs }: ReportedMonitor): number {
  return 2 * timeoutMs + 1000;
}

/**
 * Returns the version of the checks that a result measured: the newest that was given, or the previous one for a result
 * from before. Where the agent was given none before, as after it was removed from the monitor and added again, that is
 * the version before the newest, even if it still measures the same checks (D-825).
 */
function measuredVersion(
  { startedAtMs }: Report,
  { checksVersion, givenVersion, givenAtMs, givenBefore }: ReportedMonitor,
): number {
  const newest = givenVersion ?? checksVersion;
  if (givenAtMs !== null && latestStartMs(startedAtMs) >= givenAtMs) return newest;
  return givenBefore ?? Math.max(1, newest - 1);
}

/**
 * Lists the monitors of a batch that the agent is to check again before their next ticks (D-47). Queries the database
 * only if the batch has a bad result of a monitor's current checks.
 */
async function listRechecks(
  database: Database,
  agentNo: number,
  accepted: readonly AcceptedReport[],
): Promise<IngestAnswer['recheck']> {
  const current = accepted.filter(({ monitor, result }) => result.checksVersion === monitor.checksVersion);
  const bad = new Set(current.filter(({ result }) => isBad(result.verdict)).map(({ monitor }) => monitor.no));
  if (bad.size === 0) return [];
  const sources = await listRecheckedSources(database, agentNo, [...bad]);
  const ofMonitors = Map.groupBy(current, ({ monitor }) => monitor);
  return [...ofMonitors].flatMap(([{ no, id }, reports]) => {
    const source = bad.has(no) ? sources.get(no) : undefined;
    const afterMs =
      source &&
      hintRecheck(
        source,
        reports.map(({ result }) => result),
      );
    return afterMs === undefined || afterMs === null ? [] : [{ monitorId: id, afterMs }];
  });
}

/** Returns an agent's failed results in the form that spans take. */
function failedChecks(accepted: readonly AcceptedReport[], { id, tenantId, name }: TokenAgent): FailedCheck[] {
  return accepted.flatMap(({ monitor, result }) => {
    const { verdict, dueAtMs, latencyMs, phases, httpStatus, cause, reason } = result;
    if (!isBad(verdict)) return [];
    return [
      {
        ids: traceIdsOf({ monitorId: monitor.id, sourceId: id, dueAtMs }),
        tenantId,
        monitor,
        source: { id, name },
        startedAtMs: dueAtMs,
        endedAtMs: dueAtMs + (latencyMs ?? 0),
        timings: phases,
        httpStatus,
        verdict,
        cause,
        reason,
      },
    ];
  });
}

/** Time until an unchanged certificate is stored again, in milliseconds. */
const STORED_AGAIN_MS = 6 * HOUR_MS;

/**
 * Lists the newest certificate of each https monitor in the reports, if it differs from the stored one or that was
 * stored long ago.
 */
function newCertificates(accepted: readonly AcceptedReport[], agentNo: number, nowMs: number): ObservedCertificate[] {
  const newest = new Map<number, AcceptedReport & { expiresAt: number }>();
  for (const observed of accepted) {
    const { expiresAt } = observed.report;
    if (
      expiresAt === null ||
      !isSecure(observed) ||
      (newest.get(observed.monitor.no)?.report.startedAtMs ?? 0) > observed.report.startedAtMs
    )
      continue;
    newest.set(observed.monitor.no, { ...observed, expiresAt });
  }
  return [...newest.values()]
    .filter(
      ({ monitor: { target, certificate }, expiresAt, report }) =>
        certificate?.target !== target ||
        certificate.expiresAt !== expiresAt ||
        report.startedAtMs - (certificate.observedAtMs ?? 0) >= STORED_AGAIN_MS,
    )
    .map(({ monitor: { no, target }, expiresAt, report }) => ({
      monitorNo: no,
      agentNo,
      target,
      name: URL.parse(target)?.hostname ?? '',
      expiresAt,
      observedAtMs: Math.min(report.startedAtMs, nowMs),
    }));
}

/** Reports whether a result measured the present https target: older checks may have measured another one. */
function isSecure({ monitor: { type, target, checksVersion }, result }: AcceptedReport): boolean {
  return (
    type === 'http' && /^https:/i.test(target) && result.checksVersion === checksVersion && result.verdict !== 'none'
  );
}
