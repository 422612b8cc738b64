import test from 'ava';
import { TcpAnswerReader } from '../../../probes/tcp.ts';

const BYTE = Uint8Array.of(0x78);

test('a byte-order mark is part of the response, in one piece or several', (t) => {
  const bytes = Buffer.from('\uFEFFSSH-2.0');
  for (const pieces of [[bytes], Array.from(bytes, (byte) => Uint8Array.of(byte))]) {
    const reader = new TcpAnswerReader({ expect: '^\uFEFFSSH', expectMode: 'regex' }, (pattern, text) =>
      new RegExp(pattern).test(text),
    );
    for (const piece of pieces) reader.add(piece);
    t.deepEqual(reader.collected(), {
      text: '\uFEFFSSH-2.0',
      bytes: bytes.toString('latin1'),
      byteLength: bytes.length,
    });
  }
});

test('expected hex bytes end the wait as soon as they arrive, even split across pieces', (t) => {
  const reader = new TcpAnswerReader({ expect: 'c3ff', payloadEncoding: 'hex' }, () => false);
  t.deepEqual(
    [[0x61], [0xc3], [0xff]].map((piece) => reader.add(Uint8Array.from(piece))),
    [false, false, true],
  );
});

test('a response in single bytes costs searches of at most twice its maximum length', (t) => {
  let searched = 0;
  const reader = new TcpAnswerReader({ expect: 'y', expectMode: 'regex' }, (_pattern, text) => {
    searched += text.length;
    return false;
  });
  let pieces = 1;
  while (!reader.add(BYTE)) pieces += 1;
  t.is(pieces, 4096);
  t.true(searched > 0 && searched <= 2 * 4096, String(searched));
  t.is(reader.collected().text, 'x'.repeat(4096));
});
