import type { Channel, ChannelType } from '../../core/alerts/channel.ts';
import { parseEmailAddress } from '../../core/alerts/email.ts';
import { findRuleProblems, type ChannelRule } from '../../core/alerts/rules.ts';
import {
  findHeadersProblem,
  findUrlProblem,
  type WebhookFormat,
  type WebhookHeaders,
  type WebhookHeadersChange,
} from '../../core/alerts/webhook.ts';
import { quote } from '../../core/foreign-text.ts';
import { findUnstorable, type Problem, type Read } from '../../core/input.ts';
import { sortTags, type MonitorTags } from '../../core/monitors/monitor.ts';
import { readTimeZone } from '../../core/time-zones.ts';
import { BROWSER_ZONE } from '../../core/time.ts';
import { findPresetUrlProblem } from '../../notifications/webhook/presets/index.ts';
import type { Body } from '../handler.ts';

/**
 * A complete creation. `url` is null for types other than webhook; `monitorIds` that are not the caller's monitors are
 * dropped later, in any format (D-64).
 */
type ChannelDraft = {
  type: ChannelType;
  name: string;
  url: string | null;
  /** Null for types other than email. */
  address: string | null;
  /** Empty for types other than webhook. */
  headers: WebhookHeaders;
  format: WebhookFormat;
  allMonitors: boolean;
  monitorIds: string[];
  monitorTags: MonitorTags | null;
  wantsReports: boolean;
  reportTimezone: string | null;
  followsMaintenance: boolean;
  rules: readonly ChannelRule[] | null;
  groupSeconds: number;
  summarizesFlapping: boolean;
};

/** Changes of a PATCH; absent fields stay as they are. */
type ChannelPatch = {
  name?: string;
  enabled?: boolean;
  allMonitors?: boolean;
  monitorIds?: string[];
  monitorTags?: MonitorTags | null;
  wantsReports?: boolean;
  reportTimezone?: string | null;
  followsMaintenance?: boolean;
  rules?: readonly ChannelRule[] | null;
  groupSeconds?: number;
  summarizesFlapping?: boolean;
};

/** Ids that are not monitors of the account are dropped, in any format. */
const ONLY_LOOKED_UP = { field: '', except: ['monitor_ids'] };

const DEFAULT_NAMES = {
  telegram: 'Telegram',
  slack: 'Slack',
  webhook: 'Webhook',
  email: 'Email',
} as const satisfies Record<ChannelType, string>;

/** Reads the body of a creation; returns all of its problems if there are any. */
export function readChannelCreate(input: Body<'createChannel'>): Read<ChannelDraft> {
  const problems: Problem[] = [];
  findUnstorable(input, ONLY_LOOKED_UP, problems);
  if (problems.length > 0) return { ok: false, problems };
  const type = input.type ?? 'telegram';
  checkUrl(type, input.url, problems);
  const address = readAddress(type, input.address, problems);
  const headers = { ...input.headers, ...input.template?.headers };
  checkHeaders(type, input.headers === undefined && input.template === undefined ? undefined : headers, problems);
  const format = readFormat(type, input, problems) ?? null;
  checkPresetUrl(format, input.url, problems);
  checkReports(type, input.reports, problems);
  const reportTimezone = readZone(type, input.report_timezone, problems);
  checkMaintenance(type, input.follows_maintenance, problems);
  checkGrouping({ type, format }, input, problems);
  const draft = {
    type,
    name: nameOf(type, input.name),
    url: input.url ?? null,
    address,
    headers,
    format,
    allMonitors: input.all_monitors ?? true,
    monitorIds: [...new Set(input.monitor_ids)],
    monitorTags: readTags(input.monitor_tags),
    wantsReports: input.reports ?? false,
    reportTimezone,
    followsMaintenance: input.follows_maintenance ?? false,
    rules: readRules(input.rules, problems),
    groupSeconds: input.group_seconds ?? 0,
    summarizesFlapping: input.summarize_flapping ?? false,
  };
  return problems.length === 0 ? { ok: true, value: draft } : { ok: false, problems };
}

/** Reads the body of a PATCH of a channel; returns all of its problems if there are any. */
export function readChannelPatch(
  input: Body<'updateChannel'>,
  { type, address, format }: Pick<Channel, 'type' | 'address' | 'format'>,
): Read<ChannelPatch> {
  const problems: Problem[] = [];
  findUnstorable(input, ONLY_LOOKED_UP, problems);
  if (input.type !== undefined && input.type !== type) {
    problems.push({
      field: 'type',
      message: `type must stay ${type}, got ${input.type}: delete the channel and create another`,
    });
  }
  if (input.address !== undefined && input.address !== address)
    problems.push({ field: 'address', message: 'address cannot be changed: delete the channel and create another' });
  if (input.url !== undefined)
    problems.push({ field: 'url', message: 'url cannot be changed: delete the channel and create another' });
  checkReports(type, input.reports, problems);
  const reportTimezone = readZone(type, input.report_timezone, problems);
  checkMaintenance(type, input.follows_maintenance, problems);
  checkGrouping({ type, format }, input, problems);
  const rules = readRules(input.rules, problems);
  if (problems.length > 0) return { ok: false, problems };
  return {
    ok: true,
    value: {
      ...(input.name !== undefined && { name: nameOf(type, input.name) }),
      ...(input.enabled !== undefined && { enabled: input.enabled }),
      ...(input.all_monitors !== undefined && { allMonitors: input.all_monitors }),
      ...(input.monitor_ids !== undefined && { monitorIds: [...new Set(input.monitor_ids)] }),
      ...(input.monitor_tags !== undefined && { monitorTags: readTags(input.monitor_tags) }),
      ...(input.reports !== undefined && { wantsReports: input.reports }),
      ...(input.report_timezone !== undefined && { reportTimezone }),
      ...(input.follows_maintenance !== undefined && { followsMaintenance: input.follows_maintenance }),
      ...(input.rules !== undefined && { rules }),
      ...(input.group_seconds !== undefined && { groupSeconds: input.group_seconds }),
      ...(input.summarize_flapping !== undefined && { summarizesFlapping: input.summarize_flapping }),
    },
  };
}

/**
 * Returns the tags that route monitors, sorted; null for none. The API description allows only one of the two lists.
 */
function readTags(sent: Body<'createChannel'>['monitor_tags']): MonitorTags | null {
  if (sent?.any !== undefined) return { any: sortTags(sent.any) };
  return sent?.all === undefined ? null : { all: sortTags(sent.all) };
}

/** Changes of the address, headers and format of a webhook's deliveries; absent parts stay as they are. */
export type AddressPatch = {
  url?: string;
  headers?: WebhookHeadersChange;
  /** The new format; null if one is removed, which `takenAway` names. */
  format?: WebhookFormat;
  takenAway?: readonly ('preset' | 'template')[];
};

/** Returns the format after a change: a null removes only the format that it names. */
export function mergeFormat(stored: WebhookFormat, { format, takenAway = [] }: AddressPatch): WebhookFormat {
  if (format === undefined) return stored;
  return format ?? (stored !== null && takenAway.some((kind) => kind in stored) ? null : stored);
}

/** Reads the body of a change of a webhook; returns all of its problems if there are any. */
export function readAddressPatch(input: Body<'updateWebhook'>): Read<AddressPatch> {
  const problems: Problem[] = [];
  findUnstorable(input, ONLY_LOOKED_UP, problems);
  const { url, template } = input;
  if (url !== undefined) checkUrl('webhook', url, problems);
  const headers =
    input.headers === undefined && template?.headers === undefined
      ? undefined
      : { ...input.headers, ...template?.headers };
  checkHeaders('webhook', headers, problems);
  const format = readFormat('webhook', input, problems);
  const patch = {
    ...(url !== undefined && { url }),
    ...(headers !== undefined && { headers }),
    ...(format !== undefined && { format }),
    takenAway: (['preset', 'template'] as const).filter((kind) => input[kind] === null),
  };
  return problems.length === 0 ? { ok: true, value: patch } : { ok: false, problems };
}

type SentFormat = Pick<Body<'updateWebhook'>, 'preset' | 'template'>;

/** Returns the format in a body; undefined if it has none, null for the signed envelope. */
function readFormat(
  type: ChannelType,
  { preset, template }: SentFormat,
  problems: Problem[],
): WebhookFormat | undefined {
  if (preset === undefined && template === undefined) return undefined;
  const field = preset === undefined ? 'template' : 'preset';
  if (type !== 'webhook')
    problems.push({ field, message: `${field} applies to webhook channels only, got a channel of type ${type}` });
  else if (preset && template)
    problems.push({ field, message: 'preset must be left out where there is a template: a webhook has one format' });
  if (preset) return { preset };
  if (!template) return null;
  const { method = 'POST', content_type: contentType = 'application/json', body } = template;
  return { template: { method, contentType, body } };
}

/** Checks the URL of presets that identify the receiver by a part of it. */
export function checkPresetUrl(format: WebhookFormat, url: string | undefined, problems: Problem[]): void {
  if (format === null || !('preset' in format) || url === undefined) return;
  const problem = findPresetUrlProblem(format.preset, url);
  if (problem !== null) problems.push({ field: 'url', message: `url ${problem}` });
}

/** Returns rules in the form that is stored; null for none. */
export function readRules(
  sent: readonly ChannelRule[] | undefined,
  problems: Problem[],
): readonly ChannelRule[] | null {
  if (sent === undefined || sent.length === 0) return null;
  problems.push(...findRuleProblems(sent));
  return sent;
}

/** Returns the trimmed name, or the default name of the type if that is empty (D-68). */
function nameOf(type: ChannelType, sent = ''): string {
  return sent.trim() || DEFAULT_NAMES[type];
}

/** Only webhooks may choose: chats and email always follow maintenance. */
function checkMaintenance(type: ChannelType, follows: boolean | undefined, problems: Problem[]): void {
  if (follows !== undefined && type !== 'webhook')
    problems.push({
      field: 'follows_maintenance',
      message:
        `follows_maintenance applies to webhook channels only: ${type === 'email' ? 'an' : 'a'} ${type} channel ` +
        'always follows maintenance',
    });
}

/** Groups have their own payload format, which presets and templates do not support; summaries are for people. */
function checkGrouping(
  { type, format }: { type: ChannelType; format: WebhookFormat },
  { group_seconds: seconds = 0, summarize_flapping: summarizes = false }: Body<'updateChannel'>,
  problems: Problem[],
): void {
  if (type !== 'webhook') return;
  if (seconds > 0 && format !== null)
    problems.push({
      field: 'group_seconds',
      message: `group_seconds must be 0 for a webhook with a preset or template, got ${seconds}`,
    });
  if (summarizes)
    problems.push({
      field: 'summarize_flapping',
      message: 'summarize_flapping must be false for a webhook, got true: each event is a request of its own',
    });
}

/** Webhooks get only events of the API description, which has none for reports. */
function checkReports(type: ChannelType, reports: boolean | undefined, problems: Problem[]): void {
  if (reports !== true || type !== 'webhook') return;
  problems.push({
    field: 'reports',
    message:
      'reports applies to telegram, slack and email channels only, got true for a webhook: there is no webhook ' +
      'event for reports, use GET /reports instead',
  });
}

/** Returns the time zone of reports in the form that is stored; null for UTC or an invalid zone. */
function readZone(type: ChannelType, sent: string | undefined, problems: Problem[]): string | null {
  if (sent === undefined) return null;
  const zone = readTimeZone(sent);
  if (type !== 'email')
    problems.push({
      field: 'report_timezone',
      message: `report_timezone applies to email channels only, got a channel of type ${type}`,
    });
  else if (zone === null || zone === BROWSER_ZONE)
    problems.push({
      field: 'report_timezone',
      message:
        'report_timezone must be a zone of the IANA time zone database, such as Europe/Berlin, got ' + quote(sent),
    });
  return zone === 'UTC' ? null : zone;
}

function checkHeaders(type: ChannelType, headers: WebhookHeadersChange | undefined, problems: Problem[]): void {
  if (headers === undefined) return;
  const message =
    type === 'webhook'
      ? findHeadersProblem(headers)
      : `headers applies to webhook channels only, got a channel of type ${type}`;
  if (message !== null) problems.push({ field: 'headers', message });
}

/** Returns the address of an email channel in the form that is stored; null for other types or an invalid address. */
function readAddress(type: ChannelType, address: string | undefined, problems: Problem[]): string | null {
  if (type !== 'email') {
    if (address !== undefined)
      problems.push({
        field: 'address',
        message: `address applies to email channels only, got a channel of type ${type}`,
      });
    return null;
  }
  if (address === undefined) {
    problems.push({ field: 'address', message: 'address is required for email channels' });
    return null;
  }
  const parsed = parseEmailAddress(address);
  if (parsed.ok) return parsed.value;
  problems.push({ field: 'address', message: `address ${parsed.message}` });
  return null;
}

/** Checks the URL without repeating it in messages: it often is a secret. */
function checkUrl(type: ChannelType, url: string | undefined, problems: Problem[]): void {
  if (type !== 'webhook') {
    if (url !== undefined)
      problems.push({ field: 'url', message: `url applies to webhook channels only, got a channel of type ${type}` });
    return;
  }
  const problem = url === undefined ? 'is required for webhook channels' : findUrlProblem(url);
  if (problem !== null) problems.push({ field: 'url', message: `url ${problem}` });
}
