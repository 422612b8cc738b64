/**
 * Form in which a token names the cell that made it (docs/cells.md). A name contains no underscore and no dot, so it
 * ends at the first one, and the random part of a token has a fixed length: no token of an installation without a name
 * parses as one with a name.
 */
const CELL_NAME = '[a-z][a-z0-9]{0,15}';

/** The random part of a token: 32 bytes in base64url. */
const SECRET = '[A-Za-z0-9_-]{43}';

const NAMED_TOKEN = new RegExp(`^sp[kawp]_(${CELL_NAME})_${SECRET}$`);
const NAMED_PING_TOKEN = new RegExp(`^(${CELL_NAME})\\.mon_[^.]+\\.[^.]+$`);

/** Composes a new token: its prefix, the cell's name (null = none), and the random part. */
export function writeToken(prefix: 'spk' | 'spa' | 'spw' | 'spp', cell: string | null, secret: string): string {
  return cell === null ? `${prefix}_${secret}` : `${prefix}_${cell}_${secret}`;
}

/** Composes a heartbeat's new token: the cell's name (null = none), the monitor's id, and the random part. */
export function writePingToken(monitorId: string, cell: string | null, secret: string): string {
  return cell === null ? `${monitorId}.${secret}` : `${cell}.${monitorId}.${secret}`;
}

/** Returns the cell named by a token of the API, an agent or a wallboard, or by a ping key; null if there is none. */
export function cellOfToken(token: string): string | null {
  return NAMED_TOKEN.exec(token)?.[1] ?? null;
}

/** Returns the cell named by a heartbeat's token; null if there is none. */
export function cellOfPingToken(token: string): string | null {
  return NAMED_PING_TOKEN.exec(token)?.[1] ?? null;
}

/** Returns the cell to which a request belongs, from its credentials; null if they name none. */
export function cellOfRequest({
  pingToken,
  bearerToken,
  chosenCell,
}: {
  /** Token or ping key in the path of a ping; null for every other path. */
  pingToken: string | null;
  /** Text after `Bearer`, valid or not; null without credentials or with those of another kind. */
  bearerToken: string | null;
  /** Cell in the browser's cookie; null without one. */
  chosenCell: string | null;
}): string | null {
  if (pingToken !== null) return cellOfPingToken(pingToken) ?? cellOfToken(pingToken);
  return bearerToken === null ? chosenCell : cellOfToken(bearerToken);
}
