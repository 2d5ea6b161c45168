import { expect, test } from 'vitest'
import { Malformed } from '../lib/limited.ts'
import { debDocuments } from './deb/documents.ts'
import { rpmDocuments } from './rpm/documents.ts'

/** What a document of this kind holds, or why it is refused. */
async function check(id: string, bytes: string | Buffer, name = ''): Promise<number | string> {
  const kind = [...debDocuments, ...rpmDocuments].find(one => one.id === id)
  if (kind === undefined) throw new Error(`there is no kind ${id}`)
  try {
    return await kind.check(Buffer.from(bytes), { component: 'main', arch: 'x86_64', name })
  } catch (error) {
    if (error instanceof Malformed) return error.why
    throw error
  }
}

const MODULE = 'document: modulemd\nversion: 2\ndata:\n'
const MD5 = 'd41d8cd98f00b204e9800998ecf8427e'
const entry = (name: string): string => `Package: ${name}\nDescription-md5: ${MD5}\nDescription-de: sagt hallo\n`

test('aliases of aliases, which expand beyond memory, are refused', async () => {
  const lines = [...'bcdefghij'].map(
    (name, i) => ` ${name}: &${name} [${Array(9).fill(`*${'abcdefghij'[i]}`).join(',')}]`,
  )
  expect(await check('modules', `${MODULE} a: &a [x]\n${lines.join('\n')}\n`)).toMatch(/^document 1 .* alias/)
})

test('a mapping of thirty thousand keys is read, and a key that stands twice in it is found', async () => {
  const keys = Array.from({ length: 30_000 }, (_, i) => ` k${i}: 1\n`).join('')
  expect(await check('modules', MODULE + keys)).toBe(1)
  expect(await check('modules', `${MODULE}${keys} k7: 1\n`)).toBe(
    'document 1 of modules.yaml has the key "k7" twice in one mapping',
  )
})

test.each<[string, string, string | Buffer, RegExp]>([
  ['nothing', 'modules', '', /holds no document/],
  ['marks alone', 'modules', '---\n'.repeat(10_000), /holds no document/],
  ['a byte order mark alone', 'modules', '\ufeff', /holds no document/],
  ['a list', 'modules', '- a\n', /is no mapping/],
  ['an alias of nothing', 'modules', `${MODULE} a: *b\n`, /Unresolved alias/],
  ['a NUL', 'modules', `${MODULE} a: 1\n\0`, /control character "\\u0000"/],
  ['latin-1', 'modules', Buffer.from('a: \xe9', 'latin1'), /is not UTF-8/],
  ['a hundred lists in each other', 'modules', `${MODULE} a: ${'['.repeat(10_000)}`, /is no YAML/],
  ['XML', 'modules', '<comps/>', /is no mapping/],
  ['another header', 'appstream', 'File: DEP-12\nVersion: 1\n', /File: DEP-11/],
  ['nothing', 'group', '', /is no XML/],
  ['entities of its own', 'group', '<!DOCTYPE comps [<!ENTITY a "b">]><comps>&a;</comps>', /entities of its own/],
  ['a type from a file', 'group', '<!DOCTYPE comps SYSTEM "file:///etc/passwd"><comps/>', /a document type elsewhere/],
  [
    'a type from the net',
    'group',
    '<!DOCTYPE comps PUBLIC "x" "http://x.test/x"><comps/>',
    /a document type elsewhere/,
  ],
  ['an unknown entity', 'group', '<comps>&x;</comps>', /undefined entity/],
  ['elements without end', 'group', '<comps>'.repeat(100_000), /nests elements more than 64 deep/],
  ['two documents', 'group', '<comps/><comps/>', /one root/],
  ['another document', 'group', '<updates/>', /comps is needed/],
  ['another encoding', 'group', '<?xml version="1.0" encoding="latin1"?><comps/>', /says that it is "latin1"/],
  [
    'a mark in a comment before',
    'updateinfo',
    '<!-- <updates> --><updates><update/></updates>',
    /in the way of <updates>/,
  ],
  [
    'a mark in a comment behind',
    'updateinfo',
    '<updates><update/></updates><!-- </updates> -->',
    /in the way of <updates>/,
  ],
  ['an end with a blank', 'updateinfo', '<updates><update/></updates >', /in the way of <updates>/],
  ['nothing', 'translation', '\n\n', /holds no entry/],
  ['no fields', 'translation', 'a\n\n'.repeat(100_000), /line 1 of entry 1 is "a"/],
  ['no package', 'translation', entry('').replace(/^.*\n/, ''), /entry 1 has no field Package/],
  ['no name of a package', 'translation', entry('-x'), /entry 1 is of "-x", which names no package/],
  ['a short MD5', 'translation', entry('ab').replace(MD5, 'd41d'), /of ab, has no Description-md5 of 32/],
])('%s is refused as %s', async (_what, id, bytes, why) => {
  expect(await check(id, bytes, id === 'translation' ? 'de' : '')).toMatch(why)
})

test('what vendors write is taken', async () => {
  expect(await check('translation', `${entry('hello')}\n\n${entry('r')}`, 'de')).toBe(2)
  const type = '<!DOCTYPE comps PUBLIC "-//Red Hat, Inc.//DTD Comps info//EN" "comps.dtd">'
  expect(await check('group', `<?xml version="1.0"?>\n${type}\n<comps><group><id>a</id></group></comps>`)).toBe(1)
  expect(await check('updateinfo', '<?xml version="1.0"?>\n<updates><update/><update/></updates>\n')).toBe(2)
  expect(await check('updateinfo', '<updates/>')).toBe(0)
  expect(await check('modules', `%YAML 1.2\n---\n${MODULE} a: {b: 1, c: 1}\n...\n---\n${MODULE} a: 1\n...\n`)).toBe(2)
})
