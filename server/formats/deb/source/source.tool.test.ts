import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { lacking, mustRun } from '../../../../test/support/tools.ts'
import { buildSource, type SourceSpec } from '../../../../test/support/sources.ts'
import { digestBytes } from '../../../lib/digest.ts'
import { parseParagraph, valueOf } from '../paragraph.ts'
import { parseDsc } from './dsc.ts'
import { printStanza } from './stanza.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'deb-source-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const SPECS: readonly SourceSpec[] = [
  {
    name: 'acme',
    version: '1:1.0-1',
    fields: {
      'Build-Depends': 'debhelper-compat (= 13), zlib1g-dev [amd64] <!nocheck>',
      'Homepage': 'https://example.test/',
      'Testsuite': 'autopkgtest',
    },
  },
  {
    name: 'libacme',
    version: '2.0~rc1+dfsg-3',
    format: '1.0',
    fields: {
      'Uploaders': 'A <a@example.test>, B <b@example.test>',
      'Vcs-Git': 'https://example.test/x.git -b debian',
    },
  },
  { name: '0acme', version: '7', format: '3.0 (native)' },
]

/** The fields of each paragraph that a program prints, sorted by package. */
function paragraphs(text: string): Record<string, Record<string, string>> {
  const entries = text
    .split(/\n\n+/)
    .filter(part => part.trim() !== '')
    .map(part => {
      const paragraph = parseParagraph(Buffer.from(`${part.trimEnd()}\n`), 'the index')
      return [
        valueOf(paragraph, 'package'),
        Object.fromEntries([...paragraph.keys()].map(key => [key, valueOf(paragraph, key)])),
      ] as const
    })
  return Object.fromEntries(entries)
}

describe.skipIf(lacking('dpkg-dev', 'apt-utils').length > 0)('source packages', () => {
  let pool: string
  let ours: string
  beforeAll(async () => {
    pool = join(folder, 'pool')
    await mkdir(pool)
    ours = ''
    for (const spec of SPECS) {
      const files = buildSource(spec)
      for (const [name, body] of Object.entries(files)) await writeFile(join(pool, name), body)
      const [dsc = '', ...others] = Object.keys(files).reverse()
      const listed = [dsc, ...others.reverse()].map(name => {
        const body = files[name] ?? Buffer.alloc(0)
        return { name, size: body.length, ...digestBytes(body) }
      })
      ours += printStanza(parseDsc(files[dsc] ?? Buffer.alloc(0)).control, 'pool', listed)
    }
  })

  test('dpkg-source unpacks what the tests build', async () => {
    for (const name of (await readdir(pool)).filter(one => one.endsWith('.dsc')))
      await mustRun('dpkg-source', ['--no-check', '-x', join(pool, name), join(folder, `x-${name}`)])
    expect(await readFile(join(folder, 'x-acme_1.0-1.dsc', 'hello'), 'utf8')).toBe('hello\n')
  })

  test('are listed as apt-ftparchive lists them, field for field', async () => {
    expect(paragraphs(ours)).toEqual(paragraphs(await mustRun('apt-ftparchive', ['sources', 'pool'], { cwd: folder })))
  })

  test('are listed as dpkg-scansources lists them, but for the SHA-512 it does not know', async () => {
    const without = Object.fromEntries(
      Object.entries(paragraphs(ours)).map(([name, { 'checksums-sha512': sha512, ...fields }]) => {
        expect(sha512?.split('\n').length).toBeGreaterThan(1)
        return [name, fields]
      }),
    )
    expect(without).toEqual(paragraphs(await mustRun('dpkg-scansources', ['pool'], { cwd: folder })))
  })

  test.each(['1.0', '3.0 (native)', '3.0 (quilt)'])('that dpkg-source builds as %s are read', async format => {
    const home = join(folder, `b-${format.replaceAll(/\W/g, '')}`)
    const tree = join(home, 'tool-1.5')
    const version = format === '3.0 (native)' ? '1.5' : '1.5-2'
    await mkdir(join(tree, 'debian/source'), { recursive: true })
    await writeFile(join(tree, 'x.c'), 'int x;\n')
    if (format !== '3.0 (native)') await mustRun('tar', ['-czf', 'tool_1.5.orig.tar.gz', 'tool-1.5/x.c'], { cwd: home })
    await writeFile(join(tree, 'debian/source/format'), `${format}\n`)
    await writeFile(join(tree, 'debian/rules'), '#!/usr/bin/make -f\n')
    await writeFile(
      join(tree, 'debian/changelog'),
      `tool (${version}) bookworm; urgency=low\n\n  * New.\n\n -- Jo <jo@example.test>  Sun, 22 Nov 2026 10:00:00 +0000\n`,
    )
    await writeFile(
      join(tree, 'debian/control'),
      'Source: tool\nSection: devel\nMaintainer: Jo <jo@example.test>\nBuild-Depends: gcc:native (>= 4:10) | clang [amd64 arm64] <!cross>,\n\nPackage: tool\nArchitecture: any\nDescription: one\n two\n',
    )
    await mustRun('dpkg-source', ['-b', 'tool-1.5'], { cwd: home })
    const read = parseDsc(await readFile(join(home, `tool_${version}.dsc`)))
    expect([read.format, read.identity.version, read.about.section]).toEqual([format, version, 'devel'])
    expect(read.about.depends).toEqual([
      [{ name: 'gcc', arch: 'native', op: '>=', version: '4:10' }, { name: 'clang' }],
    ])
    expect((await readdir(home)).filter(name => name.startsWith('tool_')).sort()).toEqual(
      [...read.files.map(({ name }) => name), `tool_${version}.dsc`].sort(),
    )
  })
})
