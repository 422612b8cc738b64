export const CHANNEL_TYPES = ['telegram', 'slack', 'webhook'] as const;
export type ChannelType = (typeof CHANNEL_TYPES)[number];

/** `pending` until the customer has finished connecting it; nothing is sent to it before. */
export type ChannelStatus = 'connected' | 'pending';

/** Where a tenant is notified of events, without its secrets. `createdAt` is in Unix seconds. */
export type Channel = {
  id: string;
  tenantId: string;
  type: ChannelType;
  name: string;
  enabled: boolean;
  status: ChannelStatus;
  /** True: alerts for every monitor; false: only for `monitorIds`, which are kept sorted either way. */
  allMonitors: boolean;
  monitorIds: string[];
  /** Host, and port where it is not 443, of a webhook's URL; null for other types. */
  urlHost: string | null;
  teamName: string | null;
  channelName: string | null;
  /** Whether it is notified when a report is made; never true of a webhook. */
  wantsReports: boolean;
  /**
   * Why the newest delivery came to nothing or the chat was lost or ended, as a sentence, and when (Unix seconds). Null
   * once a delivery has arrived or the chat was connected anew.
   */
  lastError: { text: string; at: number } | null;
  createdAt: number;
};
