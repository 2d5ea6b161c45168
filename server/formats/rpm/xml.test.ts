import { SaxesParser } from 'saxes'
import { describe, expect, test } from 'vitest'
import { isWellFormed } from './repomd.ts'
import { element, escapeAttribute, escapeText, isPrimaryFile } from './xml.ts'

/** What a reader gets: the text of the element and its attribute. */
function parsed(document: string): { readonly text: string; readonly attribute: string } {
  const parser = new SaxesParser()
  const got = { text: '', attribute: '' }
  parser.on('text', text => {
    got.text += text
  })
  parser.on('opentag', tag => {
    got.attribute = String(tag.attributes['a'])
  })
  parser.write(document).close()
  return got
}

const KEPT = [
  '',
  'plain',
  '<tag attr="x">&amp;</tag>',
  `it's "quoted"`,
  ']]>',
  '<!--',
  'Tür 東京 🚀',
  'line\nbreak\ttab',
  'carriage\r\nreturn',
  '\u0085\u2028\ufffd',
  '&#0;',
  'a'.repeat(10_000),
]

describe('text of packages', () => {
  test.each(KEPT)('comes back as it was: %j', text => {
    expect(parsed(`<e a="${escapeAttribute(text)}">${escapeText(text)}</e>`)).toEqual({ text, attribute: text })
  })

  test.each([
    ['a\u0000b\u0001c\u0008\u000b\u000c\u000e\u001f', 'abc'],
    ['\u001b[31mred\u001b[0m', '[31mred[0m'],
    ['\ufffe\uffff', ''],
    ['half \ud83d of', 'half \ufffd of'],
    ['other half \ude80', 'other half \ufffd'],
  ])('loses what XML 1.0 cannot hold: %j', (text, left) => {
    expect(parsed(`<e a="${escapeAttribute(text)}">${escapeText(text)}</e>`)).toEqual({ text: left, attribute: left })
  })

  test('every code unit gives a document that can be read', () => {
    const all = Array.from({ length: 0x10000 }, (_, code) => String.fromCharCode(code)).join(' ')
    expect(isWellFormed(`<e a="${escapeAttribute(all)}">${escapeText(all)}</e>`, 'e')).toBe(true)
  })

  test('an element without text is one tag', () => {
    expect([element('url', ''), element('url', '\u0001'), element('url', 'x')]).toEqual([
      '<url/>',
      '<url/>',
      '<url>x</url>',
    ])
  })
})

test.each([
  ['/etc/passwd', true],
  ['/etc', false],
  ['/usr/bin/env', true],
  ['/sbin/init', true],
  ['/usr/libexec/cabin/x', true],
  ['/usr/lib/sendmail', true],
  ['/usr/lib/sendmail.x', false],
  ['/usr/share/doc', false],
  ['/opt/etc/x', false],
  ['/usr/bin', false],
] as const)('%s in primary.xml: %s', (path, isIn) => {
  expect(isPrimaryFile(path)).toBe(isIn)
})

test.each([
  ['<repomd><a/></repomd>', true],
  ['<repomd>', false],
  ['<other/>', false],
  ['<repomd/><repomd/>', false],
  ['', false],
  ['<repomd>&nope;</repomd>', false],
  ['<repomd></repodm>', false],
] as const)('%j is a whole repomd.xml: %s', (document, isWhole) => {
  expect(isWellFormed(document, 'repomd')).toBe(isWhole)
})
