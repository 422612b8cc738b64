import test from 'ava';
import * as fc from 'fast-check';
import { escapeShown, shorten } from '../../../../core/alerts/chat/message.ts';
import { anyCharacter } from '../../../helpers/any-character.ts';

test('untrusted text becomes one line without control characters, line breaks or direction overrides', (t) => {
  t.is(shorten(' a\u0000b\r\nc\u2028d\u202Etxt.exe\u2066\t e ', 100), 'a b c dtxt.exe e');
});

test('truncated text ends in an ellipsis and never splits a surrogate pair', (t) => {
  t.is(shorten('abcdef', 6), 'abcdef');
  t.is(shorten('abcdefg', 6), 'abcde…');
  t.is(shorten('abcd\u{1F600}fg', 6), 'abcd…');
});

test('markup is escaped, and truncation never splits an entity', (t) => {
  t.is(escapeShown('a < b & c > d', 100), 'a &lt; b &amp; c &gt; d');
  t.is(escapeShown('&&&&', 20), '&amp;&amp;&amp;&amp;');
  t.is(escapeShown('&&&&', 19), '&amp;&amp;&amp;…');
  t.is(escapeShown('<!channel>', 100), '&lt;!channel&gt;');
});

test('any shortened and escaped text is well formed, within its length and free of markup', (t) => {
  fc.assert(
    fc.property(
      fc.string({ unit: anyCharacter, maxLength: 300 }),
      fc.integer({ min: 5, max: 200 }),
      (text, maxLength) => {
        const line = shorten(text, maxLength);
        const escaped = escapeShown(line, maxLength);
        return (
          line.length <= maxLength &&
          escaped.length <= maxLength &&
          line.isWellFormed() &&
          escaped.isWellFormed() &&
          !/[<>\n]/.test(escaped) &&
          escaped.replaceAll(/&(?:amp|lt|gt);/g, '').indexOf('&') === -1
        );
      },
    ),
  );
  t.pass();
});
