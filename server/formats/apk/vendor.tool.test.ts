import { spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { apkProgram, splitMembers, walkTar } from '../../../test/support/apk.ts'
import { oddApks } from '../../../test/support/odd-apk.ts'
import { buildApk } from '../../../test/support/packages-apk.ts'
import { spoolBytes } from '../../../test/support/packages.ts'
import { getDistribution } from '../../../test/support/repositories.ts'
import { inspect } from './inspect.ts'
import { apkTree } from './tree.ts'
import { compareVersions, complainVersion } from './version.ts'

const signal = new AbortController().signal
const apk = (
  cwd: string,
  ...args: readonly string[]
): { readonly status: number | null; readonly out: string; readonly err: string } => {
  const { status, stdout, stderr } = spawnSync(apkProgram ?? 'apk', ['--allow-untrusted', ...args], {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, LC_ALL: 'C' },
  })
  return { status, out: stdout, err: stderr }
}

describe.skipIf(apkProgram === undefined)('apk and we read the same (needs an apk on PATH; Debian has none)', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'apk-vendor-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  /** What `apk index` says of one package: its entry as text. */
  async function indexed(bytes: Buffer): Promise<string> {
    await mkdir(join(folder, 'x86_64'), { recursive: true })
    await writeFile(join(folder, 'x86_64/package.apk'), bytes)
    const made = apk(
      folder,
      'index',
      '--no-warnings',
      '--rewrite-arch',
      'x86_64',
      '-o',
      'APKINDEX.tar.gz',
      'x86_64/package.apk',
    )
    if (made.status !== 0) throw new Error(`apk index: ${made.err}${made.out}`)
    const members = splitMembers(await readFile(join(folder, 'APKINDEX.tar.gz')))
    return (
      walkTar(members[0]?.plain ?? Buffer.alloc(0))
        .files.find(({ name }) => name === 'APKINDEX')
        ?.body.toString() ?? ''
    )
  }

  async function ours(bytes: Buffer): Promise<string> {
    const file = await spoolBytes(folder, 'ours.apk', bytes)
    const {
      identity: { name, version, arch },
      facts,
      about,
    } = await inspect(file, signal)
    const [plan] = apkTree.indexes(getDistribution('alpine3.20'))
    return plan?.render({ name, version, arch, facts, sortKey: '', source: about.source, blob: file.blob }, '') ?? ''
  }

  /**
   * Lines of an entry but for `r:` and `q:`, which apk keeps for what is installed, and an empty maintainer, which apk
   * 3 leaves out.
   */
  const lines = (text: string): string[] => text.split('\n').filter(line => !/^[rq]:|^m:$/.test(line))

  test('the index entry is that of apk index, line by line', async () => {
    const bytes = await buildApk({
      name: 'libwidget',
      version: '2.0_rc1-r3',
      arch: 'noarch',
      scripts: { 'post-install': '#!/bin/sh\n' },
      fields: {
        origin: 'widget',
        commit: '0123abcd',
        depend: ['musl>=1.2', 'so:libz.so.1', '!gadget', 'python3~3.12', 'a=>1', 'b<2'],
        provides: ['so:libwidget.so.1=1.0.2', 'widget-api'],
        replaces: ['widget-old'],
        install_if: 'docs widget=2.0_rc1-r3',
        provider_priority: '10',
        replaces_priority: '2',
      },
    })
    // apk writes the signs of a relation in its own order
    expect(lines(await ours(bytes)).map(line => line.replace('a=>1', 'a>=1'))).toEqual(lines(await indexed(bytes)))
  })

  test('every unusual package that we take, apk takes with the same entry', async () => {
    for (const { name, bytes } of await oddApks())
      expect(lines(await ours(bytes)), name).toEqual(
        lines(await indexed(bytes).catch((error: unknown) => `${name}: ${String(error)}`)),
      )
  })

  test('versions have the order of apk', () => {
    const versions = [
      '0',
      '0.1.0_alpha',
      '0.1.0_alpha1',
      '0.1.0_rc1',
      '0.1.0',
      '0.1.0-r1',
      '0.1.0_git2',
      '0.1.0_p1',
      '0.1.0a',
      '0.1.1',
      '0.1.10',
      '1.01',
      '1.1',
      '9',
      '10',
      '20240101-r3',
    ]
    for (const a of versions) {
      for (const b of versions) {
        const order = Math.sign(compareVersions(a, b))
        expect(apk(folder, 'version', '-t', a, b).out.trim(), `${a} to ${b}`).toBe(
          order < 0 ? '<' : order > 0 ? '>' : '=',
        )
      }
    }
  })

  test('every version that apk refuses is refused here, and no other kind is taken', () => {
    const versions = [
      '.1',
      '1.',
      '1ab',
      '1_foo',
      '1-1',
      '1-r',
      '1:2',
      '1/2',
      '1+1',
      '1.0-R1',
      '1',
      '1.0_rc1_p2-r3',
      '1a',
    ]
    const refused = versions.filter(version => {
      const { status, out } = apk(folder, 'version', '-c', version)
      return status !== 0 || out !== ''
    })
    expect(refused.length).toBeGreaterThan(5)
    expect(refused.filter(version => complainVersion(version) === undefined)).toEqual([])
    expect(
      ['1', '1.0_rc1_p2-r3', '1a'].filter(
        version => refused.includes(version) || complainVersion(version) !== undefined,
      ),
    ).toEqual([])
  })
})
