import { spawnSync } from 'node:child_process';
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { findFreePort } from '../../cli/embedded-postgres/start.ts';
import type { KeyPair } from './certificates.ts';
import type { Harness } from './harness.ts';

const PROGRAM = '/usr/sbin/postfix';
const NOBODY = 65_534;

/** Debian's Postfix with one mailbox, oncall@customer.example; it relays no mail. */
export type Postfix = {
  port: number;
  /** Returns the messages in the mailbox, as stored. */
  mails: () => string[];
};

/** Reports whether Postfix can be started: it is installed, and this process is root. */
export function canStartPostfix(): boolean {
  return existsSync(PROGRAM) && process.getuid?.() === 0;
}

/** Starts Postfix on a free port of 127.0.0.1, with a separate queue and configuration; it stops with the test. */
export async function startPostfix(t: Harness, { key, cert }: KeyPair): Promise<Postfix> {
  // Only the owner can enter a test run's temporary directory.
  const folder = mkdtempSync('/var/tmp/spotcheck-postfix-');
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const port = await findFreePort();
  const [config, mailboxes] = [join(folder, 'config'), join(folder, 'mail')];
  for (const path of [config, mailboxes, join(folder, 'queue'), join(folder, 'data')]) mkdirSync(path);
  chownSync(mailboxes, NOBODY, NOBODY);
  spawnSync('chown', ['postfix', join(folder, 'data')]);
  // Postfix programs run as other users below this folder.
  spawnSync('chmod', ['0755', folder]);
  writeFileSync(join(config, 'key.pem'), key);
  writeFileSync(join(config, 'cert.pem'), cert);
  writeFileSync(join(config, 'main.cf'), mainConfiguration(folder));
  writeFileSync(join(config, 'master.cf'), masterConfiguration(port));
  const run = (command: string) => spawnSync(PROGRAM, ['-c', config, command], { encoding: 'utf8' });
  const started = run('start');
  t.teardown(() => run('stop'));
  if (started.status !== 0) {
    const log = join(folder, 'mail.log');
    throw new Error(`Postfix did not start: ${started.stderr}${existsSync(log) ? readFileSync(log, 'utf8') : ''}`);
  }
  const received = join(mailboxes, 'oncall', 'new');
  return {
    port,
    mails: () =>
      existsSync(received) ? readdirSync(received).map((name) => readFileSync(join(received, name), 'utf8')) : [],
  };
}

function mainConfiguration(folder: string): string {
  return `compatibility_level = 3.6
queue_directory = ${folder}/queue
data_directory = ${folder}/data
maillog_file = ${folder}/mail.log
maillog_file_prefixes = /var/tmp
myhostname = mx.customer.example
mydestination =
mynetworks =
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
alias_maps =
virtual_mailbox_domains = customer.example
virtual_mailbox_base = ${folder}/mail
virtual_mailbox_maps = inline:{ {oncall@customer.example = oncall/} }
virtual_uid_maps = static:${NOBODY}
virtual_gid_maps = static:${NOBODY}
smtpd_relay_restrictions = reject_unauth_destination
smtpd_tls_security_level = encrypt
smtpd_tls_cert_file = ${folder}/config/cert.pem
smtpd_tls_key_file = ${folder}/config/key.pem
`;
}

function masterConfiguration(port: number): string {
  const services = [
    'pickup unix n - n 60 1 pickup',
    'cleanup unix n - n - 0 cleanup',
    'qmgr unix n - n 300 1 qmgr',
    'tlsmgr unix - - n 1000? 1 tlsmgr',
    'rewrite unix - - n - - trivial-rewrite',
    'bounce unix - - n - 0 bounce',
    'defer unix - - n - 0 bounce',
    'trace unix - - n - 0 bounce',
    'anvil unix - - n - 1 anvil',
    'proxymap unix - - n - - proxymap',
    'error unix - - n - - error',
    'virtual unix - n n - - virtual',
    'postlog unix-dgram n - n - 1 postlogd',
  ];
  return [`127.0.0.1:${port} inet n - n - - smtpd`, ...services, ''].join('\n');
}
