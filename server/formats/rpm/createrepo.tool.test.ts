import { execFileSync } from 'node:child_process'
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { SaxesParser } from 'saxes'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  i18nTag,
  int32Tag,
  packRpm,
  rpmParts,
  stringTag,
  stringsTag,
  type RpmFileSpec,
  type RpmTag,
} from '../../../test/support/packages-rpm.ts'
import { spoolPath } from '../../../test/support/packages.ts'
import { createRandom, type Random } from '../../../test/support/random.ts'
import { lacking } from '../../../test/support/tools.ts'
import type { PublishedEntry } from '../tree.ts'
import { inspect } from './inspect.ts'
import { DEPENDENCY_TAGS } from './tags.ts'
import { renderFilelists, renderOther, renderPrimary } from './xml.ts'

const TEXTS = [
  'plain',
  'a & b <c> "d" \'e\'',
  ' lead',
  'trail ',
  '',
  'multi\nline\n\n  x\n',
  'tab\tx',
  'é ü 漢字 🎉',
  '\r\nx',
  'x\u00a0y',
  '%{name} %',
  'a]]>b',
  '&amp; &#10;',
  '\u0085\u2028',
  '<![CDATA[x]]>',
]
const NAMES = [
  'a',
  'b',
  '/bin/sh',
  '/usr/bin/x',
  '/opt/z',
  'perl(A::B)',
  'lib.so.1()(64bit)',
  '(a or b)',
  'config(x)',
  'n&<>"',
  'é',
  '/usr/lib/sendmail',
  'rtld(GNU_HASH)',
]
// no two are the same: of a need that a package itself offers in other words, createrepo_c does not see that
const VERSIONS = ['1.0-1', '0:1', '1:2.0-3', '2-', ':3', '~1', '1^x', '1.0-1.el9', 'a', '0', '1/2', '01:1-1', '-1']
/** A plain one, or one of the marks that scripts, triggers and generators leave. */
const MARKS = [0, 0, 0, ...[4, 5, 6, 7, 8, 9, 10, 11, 12, 28].map(bit => 1 << bit)]
const PATHS = [
  'usr/bin/x',
  'etc/a b',
  'usr/share/q"uote',
  "opt/ap'o",
  'var/x&y<z',
  'home/é/ü漢',
  'usr/lib/sendmail',
  'bin/x',
  'usr/libexec/bin/y',
  'opt/back\\slash',
  'usr/pct%s',
  'usr/\u0085n',
]

function dependencies({ pick, below }: Random, columns: readonly [number, number, number]): RpmTag[] {
  const list = Array.from({ length: below(7) }, () => {
    const name = pick(NAMES)
    return name.startsWith('(') || below(5) < 2
      ? { name, flags: pick(MARKS), version: '' }
      : { name, flags: pick([8, 2, 4, 10, 12]) | pick(MARKS), version: pick(VERSIONS) }
  })
  const [name, flags, version] = columns
  return list.length === 0
    ? []
    : [
        stringsTag(
          name,
          list.map(one => one.name),
        ),
        int32Tag(
          flags,
          list.map(one => one.flags),
        ),
        stringsTag(
          version,
          list.map(one => one.version),
        ),
      ]
}

async function build(random: Random, number: number): Promise<Buffer> {
  const { pick, below } = random
  const files = Object.fromEntries(
    PATHS.filter(() => below(3) === 0).map((path): [string, RpmFileSpec] => [
      path,
      pick<RpmFileSpec>(['x', { mode: 0o4755, content: 'y' }, { symlink: 'x' }, { dir: true }, { ghost: true }, '']),
    ]),
  )
  const changelog = Array.from({ length: pick([0, 1, 3, 14]) }, () => ({
    author: pick(TEXTS).trimEnd(),
    at: pick([1_700_000_000, 1_700_000_000, 1_700_086_400, 1_699_999_999]),
    text: pick(TEXTS),
  }))
  const parts = await rpmParts({
    name: `p${number}`,
    version: pick(['1', '1.0~rc', '2^git']),
    release: pick(['1', '1.el9']),
    ...(below(2) === 0 ? {} : { epoch: below(3) }),
    arch: pick(['x86_64', 'noarch', 'i686']),
    ...(number % 10 === 0 ? { sourcerpm: '', files: { [`p${number}.spec`]: 'x' } } : { files }),
    changelog,
  })
  const tags: RpmTag[] = [
    ...[1004, 1005, 1016].map(tag => i18nTag(tag, pick(TEXTS))),
    ...[1007, 1011, 1014, 1015, 1020].map(tag => stringTag(tag, pick(TEXTS))),
    ...Object.values(DEPENDENCY_TAGS).flatMap(columns => dependencies(random, columns)),
  ]
  const replaced = new Set([...tags.map(({ tag }) => tag), ...Object.values(DEPENDENCY_TAGS).flat()])
  return packRpm({ ...parts, tags: [...parts.tags.filter(({ tag }) => !replaced.has(tag)), ...tags] })
}

/** Every element of every package, by its digest, in order: path, attributes, text where there are no elements. */
function flatten(document: string): Map<string, string[]> {
  const packages = new Map<string, string[]>()
  const stack: { name: string; attributes: string; text: string; isLeaf: boolean }[] = []
  let [current, id] = [[] as string[], '']
  const parser = new SaxesParser()
  parser.on('opentag', ({ name, attributes }) => {
    if (stack.length > 0) Object.assign(stack.at(-1) ?? {}, { isLeaf: false })
    if (name === 'package') [current, id] = [[], attributes['pkgid'] ?? '']
    // the time of the file is that of the copy here
    stack.push({
      name,
      attributes: Object.entries(attributes)
        .filter(([key]) => name !== 'time' || key !== 'file')
        .map(pair => pair.join('='))
        .sort()
        .join(' '),
      text: '',
      isLeaf: true,
    })
  })
  parser.on('text', text => {
    Object.assign(stack.at(-1) ?? {}, { text: `${stack.at(-1)?.text ?? ''}${text}` })
  })
  parser.on('cdata', text => {
    Object.assign(stack.at(-1) ?? {}, { text: `${stack.at(-1)?.text ?? ''}${text}` })
  })
  parser.on('closetag', () => {
    const { name = '', attributes = '', text = '', isLeaf = false } = stack.pop() ?? {}
    current.push(`${stack.map(one => one.name).join('/')}/${name} ${attributes} ${isLeaf ? JSON.stringify(text) : ''}`)
    if (name === 'checksum') id = text
    if (name !== 'package') return
    packages.set(id, current)
    current = []
  })
  parser.write(document).close()
  return packages
}

const missing = lacking('createrepo-c')
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'createrepo-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

test.skipIf(missing.length > 0)(
  'createrepo_c writes the same of 120 packages full of odd texts, names, bounds and files',
  async () => {
    const random = createRandom(20261121)
    const entries: PublishedEntry[] = []
    for (let number = 0; number < 120; number++) {
      const path = join(folder, `${number}.rpm`)
      await writeFile(path, await build(random, number))
      const file = await spoolPath(path)
      const {
        identity: { name, version, arch },
        facts,
      } = await inspect(file, new AbortController().signal)
      entries.push({
        name,
        version,
        arch,
        sortKey: '',
        source: name,
        blob: file.blob,
        facts: JSON.parse(JSON.stringify(facts)),
      })
    }
    execFileSync('createrepo_c', ['-q', '--no-database', folder])
    const made = await readdir(join(folder, 'repodata'))
    const render = {
      primary: (entry: PublishedEntry) => renderPrimary(entry, `${entry.name.slice(1)}.rpm`),
      filelists: renderFilelists,
      other: renderOther,
    }
    for (const [kind, print] of Object.entries(render)) {
      const theirs = flatten(
        gunzipSync(
          await readFile(join(folder, 'repodata', made.find(name => name.endsWith(`${kind}.xml.gz`)) ?? '')),
        ).toString(),
      )
      const ours = flatten(`<root xmlns:rpm="x">${entries.map(print).join('')}</root>`)
      expect(ours.size, kind).toBe(120)
      for (const [id, lines] of ours) {
        expect(
          lines.map(line => line.replace(/^root\//, '')),
          kind,
        ).toEqual(theirs.get(id)?.map(line => line.replace(/^(metadata|filelists|otherdata)\//, '')))
      }
    }
  },
)
