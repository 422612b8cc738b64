import type { IncomingHttpHeaders } from 'node:http';
import type { Harness } from './harness.ts';
import { startHttpServer } from './http-server.ts';

/** Contents of a fake status page, which tests change freely. */
export type FakePage = {
  name: string;
  indicator: string;
  description: string;
  components: { id: string; name: string; status: string }[];
  incidents: { name: string; components: string[] }[];
};

/** A fake status page of a vendor, in the format of Atlassian Statuspage. */
export type StatusPageServer = {
  url: string;
  page: FakePage;
  /** Requests so far, in order. */
  requests: { path: string; headers: IncomingHttpHeaders; answered: number }[];
  /** Response to every request in place of the page; null = the page. */
  instead: { status: number; headers?: Record<string, string>; body?: string; held?: Promise<void> } | null;
};

/** Starts a page with healthy components. Its ETag changes with its content. */
export async function startStatusPage(t: Harness): Promise<StatusPageServer> {
  const page: FakePage = {
    name: 'Shop Cloud',
    indicator: 'none',
    description: 'All Systems Operational',
    components: [
      { id: 'c1', name: 'API', status: 'operational' },
      { id: 'c2', name: 'Dashboard', status: 'operational' },
      { id: 'c3', name: 'Webhooks', status: 'operational' },
    ],
    incidents: [],
  };
  const server: StatusPageServer = { url: '', page, requests: [], instead: null };
  const { port } = await startHttpServer(t, async (request, response) => {
    const received = { path: request.url ?? '', headers: request.headers, answered: 0 };
    server.requests.push(received);
    const { instead } = server;
    await instead?.held;
    const body = summaryOf(page);
    const etag = `"${Buffer.from(body).toString('base64url').slice(-24)}-${body.length}"`;
    const answer = (status: number, headers: Record<string, string>, text?: string) => {
      received.answered = status;
      response.writeHead(status, headers).end(text);
    };
    if (instead !== null) answer(instead.status, instead.headers ?? {}, instead.body ?? '');
    else if (request.url !== '/api/v2/summary.json') answer(404, { 'Content-Type': 'text/html' }, '<h1>Not here</h1>');
    else if (request.headers['if-none-match'] === etag) answer(304, { ETag: etag });
    else answer(200, { 'Content-Type': 'application/json; charset=utf-8', ETag: etag }, body);
  });
  server.url = `http://127.0.0.1:${port}`;
  return server;
}

function summaryOf({ name, indicator, description, components, incidents }: FakePage): string {
  return JSON.stringify({
    page: {
      id: 'p1',
      name,
      url: 'https://status.shop.example',
      time_zone: 'Etc/UTC',
      updated_at: '2026-01-01T00:00:00.000Z',
    },
    components: components.map((component, index) => ({
      ...component,
      position: index,
      group: false,
      group_id: null,
      only_show_if_degraded: false,
    })),
    incidents: incidents.map((incident, index) => ({
      id: `i${index}`,
      name: incident.name,
      status: 'investigating',
      impact: 'major',
      components: components
        .filter((component) => incident.components.includes(component.name))
        .map(({ id, name: title }) => ({ id, name: title })),
    })),
    scheduled_maintenances: [],
    status: { indicator, description },
  });
}
