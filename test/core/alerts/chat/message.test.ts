import test from 'ava';
import * as fc from 'fast-check';
import { escapeShown, shorten } from '../../../../core/alerts/chat/message.ts';
import { anyCharacter } from '../../../helpers/any-character.ts';

test('a foreign text becomes one clean line: control characters, line breaks and direction overrides are gone', (t) => {
  t.is(shorten(' a\u0000b\r\nc\u2028d\u202Etxt.exe\u2066\t e ', 100), 'a b c dtxt.exe e');
});

test('a cut text ends in an ellipsis, and in no half of a pair', (t) => {
  t.is(shorten('abcdef', 6), 'abcdef');
  t.is(shorten('abcdefg', 6), 'abcde…');
  t.is(shorten('abcd\u{1F600}fg', 6), 'abcd…');
});

test('markup is escaped, and a cut never falls inside an entity', (t) => {
  t.is(escapeShown('a < b & c > d', 100), 'a &lt; b &amp; c &gt; d');
  t.is(escapeShown('&&&&', 20), '&amp;&amp;&amp;&amp;');
  t.is(escapeShown('&&&&', 19), '&amp;&amp;&amp;…');
  t.is(escapeShown('<!channel>', 100), '&lt;!channel&gt;');
});

test('whatever comes, both stay within their length, and nothing is left that could be markup', (t) => {
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
