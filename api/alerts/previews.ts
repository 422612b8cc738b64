import { setImmediate } from 'node:timers/promises';
import { replayRules, type ReplayedAlert } from '../../core/alerts/replay.ts';
import type { Problem } from '../../core/input.ts';
import { DAY_MS, toUnixSeconds } from '../../core/time.ts';
import { listPastChanges } from '../../models/alerts/routes.ts';
import { previewMessages, type MessagePreview, type PreviewedRequest } from '../../notifications/previews.ts';
import { badRequest } from '../api-error.ts';
import type { Handler, Parts } from '../handler.ts';
import { callerOf, idOf } from '../request-context.ts';
import type { components } from '../schema.generated.ts';
import { readRules } from './channel-input.ts';
import { getOwnChannel } from './channels.ts';

/** Length of the previewed past. */
const PREVIEWED_MS = 30 * DAY_MS;

/** Maximum number of alerts that are listed; the others are only counted. */
const MAX_SHOWN = 500;

/** `POST /channels/{id}/rules/preview` */
export function previewRulesHandler({
  database,
  now,
  rateLimits,
}: Parts<'database' | 'now' | 'rateLimits'>): Handler<'previewRules'> {
  return async (request, response) => {
    const key = { tenantId: callerOf(response).tenantId, id: idOf(request) };
    const channel = await getOwnChannel({ database }, key);
    const problems: Problem[] = [];
    const rules = request.body.rules === undefined ? channel.rules : readRules(request.body.rules, problems);
    if (problems.length > 0) throw badRequest(...problems.map(({ message }) => message));
    await rateLimits.take('rules', key.tenantId);
    const nowMs = now();
    const sinceMs = nowMs - PREVIEWED_MS;
    const changes = await listPastChanges(database, { tenantId: key.tenantId, channelId: key.id, sinceMs });
    const alerts: ReplayedAlert[] = [];
    for (const replayed of replayRules(rules ?? [], changes, nowMs)) {
      alerts.push(...replayed);
      await setImmediate();
    }
    alerts.sort((a, b) => a.atMs - b.atMs);
    const sent = alerts.filter(({ outcome }) => outcome === 'sent').length;
    response.json({
      from: toUnixSeconds(sinceMs),
      to: toUnixSeconds(nowMs),
      sent,
      not_sent: alerts.length - sent,
      alerts: alerts.slice(-MAX_SHOWN).toReversed().map(presentAlert),
    });
  };
}

function presentAlert(alert: ReplayedAlert): components['schemas']['PreviewedAlert'] {
  return {
    at: toUnixSeconds(alert.atMs),
    event: alert.event,
    monitor_id: alert.monitorId,
    monitor_name: alert.monitorName,
    outcome: alert.outcome,
    held_by: alert.heldBy,
    reminder: alert.reminder,
  };
}

/** `GET /channels/{id}/previews` */
export function previewMessagesHandler({
  database,
  now,
  rateLimits,
  templates,
  config,
}: Parts<'database' | 'now' | 'rateLimits' | 'templates' | 'config'>): Handler<'previewMessages'> {
  return async (request, response) => {
    const { tenantId } = callerOf(response);
    const channel = await getOwnChannel({ database }, { tenantId, id: idOf(request) });
    await rateLimits.take('messages', tenantId);
    const parts = { nowMs: now(), publicUrl: config.publicUrl, renderer: templates };
    response.json({ previews: (await previewMessages(channel, parts)).map(presentPreview) });
  };
}

function presentPreview(preview: MessagePreview): components['schemas']['MessagePreview'] {
  const { kind, event, isSent, requests, email, problem } = preview;
  return { kind, event, sent: isSent, requests: requests.map(presentRequest), email, problem };
}

function presentRequest({ isCut, ...request }: PreviewedRequest): components['schemas']['PreviewedRequest'] {
  return { ...request, cut: isCut };
}
