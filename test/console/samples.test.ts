import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';
import { signDelivery } from '../../notifications/webhook/signature.ts';
import { GO_ENV, isInstalled } from '../helpers/command.ts';

const run = promisify(execFile);
const SAMPLES = fileURLToPath(new URL('../../console/samples/', import.meta.url));

/** A request as a receiver gets it, and the receiver's secret. */
type Case = { says: boolean; why: string; body: string; headers: Record<string, string>; secret: string };

/**
 * Drivers that read cases as JSON (bodies in base64) from a file, and print the sample's result for each on one line.
 */
const DRIVERS = {
  Node: {
    program: 'node',
    sample: 'verify.mjs',
    driver: 'driver.mjs',
    code: `import { readFileSync } from 'node:fs';
import { isFromSpotcheck } from './verify.mjs';
for (const { body, headers, secret } of JSON.parse(readFileSync('cases.json', 'utf8'))) {
  const received = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  console.log(String(isFromSpotcheck(Buffer.from(body, 'base64'), received, secret)));
}`,
    command: ['node', 'driver.mjs'],
  },
  Python: {
    program: 'python3',
    sample: 'verify.py',
    driver: 'driver.py',
    code: `import base64, json
from email.message import Message
from verify import is_from_spotcheck

for case in json.load(open("cases.json")):
    headers = Message()
    for name, value in case["headers"].items():
        headers[name] = value
    print(str(is_from_spotcheck(base64.b64decode(case["body"]), headers, case["secret"])).lower())
`,
    command: ['python3', 'driver.py'],
  },
  Go: {
    program: 'go',
    sample: 'verify.go',
    driver: 'driver.go',
    code: `package main

import (
	"encoding/json"
	"os"
	"strings"
)

func main() {
	var cases []struct {
		Body    []byte
		Headers map[string]string
		Secret  string
	}
	text, _ := os.ReadFile("cases.json")
	if err := json.Unmarshal(text, &cases); err != nil {
		panic(err)
	}
	for _, each := range cases {
		header := func(name string) string {
			for key, value := range each.Headers {
				if strings.EqualFold(key, name) {
					return value
				}
			}
			return ""
		}
		if IsFromSpotcheck(each.Body, header, each.Secret) {
			os.Stdout.WriteString("true\\n")
		} else {
			os.Stdout.WriteString("false\\n")
		}
	}
}
`,
    command: ['go', 'run', 'driver.go', 'verify.go'],
  },
  PHP: {
    program: 'php',
    sample: 'verify.php',
    driver: 'driver.php',
    code: `<?php
require 'verify.php';
foreach (json_decode(file_get_contents('cases.json'), true) as $case) {
    echo isFromSpotcheck(base64_decode($case['body']), $case['headers'], $case['secret']) ? "true\\n" : "false\\n";
}
`,
    command: ['php', 'driver.php'],
  },
} as const;

const languages = Object.keys(DRIVERS) as (keyof typeof DRIVERS)[];
const installed = languages.filter((language) => isInstalled(DRIVERS[language].program));
const missing = languages.filter((language) => !installed.includes(language));

test(
  'the sample code accepts our signatures and nothing else, in ' +
    `${installed.join(', ')}${missing.length > 0 ? `; not installed here, so not run: ${missing.join(', ')}` : ''}`,
  async (t) => {
    const cases = listCases();
    await Promise.all(
      installed.map(async (language) => {
        const lines = await ask(language, cases);
        t.deepEqual(
          lines.map((said, index) => `${said}: ${cases[index]?.why}`),
          cases.map(({ says, why }) => `${says}: ${why}`),
          language,
        );
      }),
    );
  },
);

function listCases(): Case[] {
  const now = Math.floor(Date.now() / 1000);
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
  const before = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
  const body = '{"event":"monitor.down","reason":"Größer als 5 s, ✗"}';
  const sign = (sentAtSeconds: number, previous: string | null = null) =>
    signDelivery(
      { body: Buffer.from(body), event: 'monitor.down', deliveryId: 'dlv_1', sentAtSeconds },
      secret,
      previous,
    );
  const { 'X-Service-Signature': _, ...withoutOwn } = sign(now);
  const { 'webhook-signature': __, ...withoutStandard } = sign(now);
  return [
    { says: true, why: 'an original delivery', body, headers: sign(now), secret },
    { says: true, why: 'two signatures, verified with the new secret', body, headers: sign(now, before), secret },
    {
      says: true,
      why: 'two signatures, verified with the previous secret',
      body,
      headers: sign(now, before),
      secret: before,
    },
    { says: false, why: 'another secret', body, headers: sign(now), secret: before },
    { says: false, why: 'another body', body: `${body} `, headers: sign(now), secret },
    { says: false, why: 'another time', body, headers: { ...sign(now), 'webhook-timestamp': String(now + 1) }, secret },
    { says: false, why: 'another id', body, headers: { ...sign(now), 'webhook-id': 'dlv_2' }, secret },
    { says: false, why: 'too old', body, headers: sign(now - 3600), secret },
    { says: false, why: 'from the future', body, headers: sign(now + 3600), secret },
    { says: false, why: 'no time', body, headers: { ...sign(now), 'webhook-timestamp': 'soon' }, secret },
    { says: false, why: 'only the standard signature', body, headers: withoutOwn, secret },
    { says: false, why: 'only our own signature', body, headers: withoutStandard, secret },
    { says: false, why: 'no headers', body, headers: {}, secret },
  ];
}

async function ask(language: keyof typeof DRIVERS, cases: readonly Case[]): Promise<string[]> {
  const { sample, driver, code, command } = DRIVERS[language];
  const folder = await mkdtemp(join(tmpdir(), 'spotcheck-sample-'));
  try {
    await copyFile(join(SAMPLES, sample), join(folder, sample));
    await writeFile(join(folder, driver), code);
    await writeFile(
      join(folder, 'cases.json'),
      JSON.stringify(
        cases.map(({ body, headers, secret }) => ({ body: Buffer.from(body).toString('base64'), headers, secret })),
      ),
    );
    const [program, ...args] = command;
    const { stdout } = await run(program, args, {
      cwd: folder,
      env: { ...process.env, ...GO_ENV },
    });
    return stdout.trim().split('\n');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
