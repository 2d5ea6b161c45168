import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { mutate, mutateLines } from '../../test/support/mutate.ts'
import { apkParts, cutTar, packApk, pkginfoText, sha256Hex, gz } from '../../test/support/packages-apk.ts'
import { packRpm, rpmParts, stringsTag } from '../../test/support/packages-rpm.ts'
import { buildDeb, controlText, debParts, packDeb, spoolBytes, tar } from '../../test/support/packages.ts'
import { createRandom, type Random } from '../../test/support/random.ts'
import { rpmInstall } from '../../test/support/rpm-tools.ts'
import { ADMIN_PATH, findProgram, lacking, run } from '../../test/support/tools.ts'
import { isRefusal } from '../core/errors.ts'
import { getFormat } from './index.ts'

/** More by MUTANTS=20000, from another place by SEED. */
const MUTANTS = Number(process.env['MUTANTS'] ?? 150) // eslint-disable-line no-restricted-properties -- asked for by hand
const SEED = Number(process.env['SEED'] ?? 20261121) // eslint-disable-line no-restricted-properties -- asked for by hand

const FILES = {
  'usr/bin/prog': { content: '#!/bin/sh\n', mode: 0o755 },
  'usr/bin/alias': { symlink: 'prog' },
  'usr/bin/hard': { hardlink: 'usr/bin/prog' },
  'etc/x.conf': 'a=1\n',
} as const
const DEB = {
  name: 'mutant',
  version: '1:1.0~rc1-1',
  files: FILES,
  scripts: { conffiles: '/etc/x.conf\n', triggers: 'interest-noawait /usr/share/x\n' },
  fields: {
    Depends: 'libc6 (>= 2.36), a | b (<< 1:2), c:any',
    Provides: 'v (= 2)',
    Replaces: 'x',
    Source: 'src (2.0)',
    Section: 'misc',
    Priority: 'optional',
    Homepage: 'https://e.test/',
    Description: 'short\n long\n .\n  more',
  },
} as const
const RPM = {
  name: 'mutant',
  version: '1.0~rc1',
  release: '1',
  epoch: 1,
  files: FILES,
  requires: ['libfoo >= 1:2.0-1', '(a or b)'],
  provides: ['v = 2'],
  obsoletes: ['old <= 1'],
  changelog: [{ author: 'A - 1', at: 1_700_000_000, text: '- x' }],
  compression: 'none',
} as const
const APK = {
  name: 'mutant',
  version: '1.0_rc1-r1',
  files: FILES,
  fields: {
    depend: ['so:libc.so.1', '!bad', 'foo>=1.2', 'bar~1'],
    provides: ['cmd:x=1.0-r1', 'v'],
    replaces: 'old<2',
    install_if: 'mutant=1.0_rc1-r1 docs',
    provider_priority: '10',
  },
} as const

async function mutantDeb(random: Random): Promise<Buffer> {
  const parts = debParts(DEB)
  switch (random.below(4)) {
    case 0:
      return mutate(await buildDeb({ ...DEB, compression: random.pick(['gz', 'xz', 'zst', 'none']) }), random)
    case 1:
      return packDeb({ ...parts, data: mutate(parts.data, random) }, 'none')
    case 2:
      return packDeb({ ...parts, control: mutate(parts.control, random) }, 'none')
    default:
      return packDeb(
        {
          ...parts,
          control: tar([
            { name: './', type: '5' },
            { name: './control', body: mutateLines(controlText(DEB), random) },
          ]),
        },
        'none',
      )
  }
}

const rpm = await rpmParts(RPM)

async function mutantRpm(random: Random): Promise<Buffer> {
  switch (random.below(4)) {
    case 0:
      return mutate(packRpm(await rpmParts({ ...RPM, compression: random.pick(['gz', 'xz', 'zst', 'none']) })), random)
    case 1: {
      const payload = mutate(rpm.payload, random)
      const digest = createHash('sha256').update(payload).digest('hex')
      return packRpm({
        ...rpm,
        payload,
        tags: rpm.tags.map(one => (one.tag === 5092 || one.tag === 5097 ? stringsTag(one.tag, [digest]) : one)),
      })
    }
    default: {
      const { tag } = random.pick(rpm.tags)
      return packRpm({
        ...rpm,
        tags: rpm.tags.map(one =>
          one.tag === tag
            ? {
                ...one,
                ...(random.below(3) === 0 ? { type: 1 + random.below(9) } : { data: mutate(one.data, random) }),
              }
            : one,
        ),
      })
    }
  }
}

function mutantApk(random: Random): Promise<Buffer> {
  const parts = apkParts(APK)
  switch (random.below(4)) {
    case 0:
      return Promise.resolve(mutate(packApk(parts), random))
    case 1: {
      const data = gz(mutate(parts.data, random))
      return Promise.resolve(
        Buffer.concat([gz(cutTar([{ name: '.PKGINFO', body: pkginfoText(APK, sha256Hex(data)) }])), data]),
      )
    }
    case 2:
      return Promise.resolve(packApk({ ...parts, control: mutate(parts.control, random) }))
    default:
      return Promise.resolve(
        packApk({
          ...parts,
          control: cutTar([
            { name: '.PKGINFO', body: mutateLines(pkginfoText(APK, sha256Hex(gz(parts.data))), random) },
          ]),
        }),
      )
  }
}

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mutants-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** What the package's own tool says when it installs it into an empty system; '' when it does. */
const INSTALL: Readonly<Record<'deb' | 'rpm' | 'apk', (path: string, root: string) => Promise<string>>> = {
  async deb(path, root) {
    for (const name of ['info', 'updates', 'triggers']) mkdirSync(join(root, 'var/lib/dpkg', name), { recursive: true })
    writeFileSync(join(root, 'var/lib/dpkg/status'), '')
    const { code, err } = await run(
      'dpkg',
      [`--root=${root}`, '--force-architecture', '--force-depends', '--unpack', path],
      { env: { PATH: ADMIN_PATH, LC_ALL: 'C.UTF-8' } },
    )
    // a folder that this package does not bring may be there by another one
    return code === 0 || /No such file or directory/.test(err) ? '' : err
  },
  async rpm(path, root) {
    const { code, err } = await rpmInstall(root, path, '--notriggers', '--nosignature', '--ignoreos')
    return code === 0 ? '' : err
  },
  async apk(path, root) {
    const { code, out, err } = await run('apk', [
      '--root',
      root,
      '--initdb',
      '--arch',
      'x86_64',
      '--allow-untrusted',
      '--no-scripts',
      '--no-network',
      '--force-broken-world',
      'add',
      path,
    ])
    return code === 0 ? '' : `${out}${err}`
  },
}
const HAS: Readonly<Record<keyof typeof INSTALL, boolean>> = {
  deb: findProgram('dpkg') !== undefined && process.getuid?.() === 0,
  rpm: lacking('rpm').length === 0 && process.getuid?.() === 0,
  apk: findProgram('apk') !== undefined,
}

test.each([
  ['deb', mutantDeb],
  ['rpm', mutantRpm],
  ['apk', mutantApk],
] as const)('a mutant of a valid %s is refused with a reason, or its own tool installs it', async (id, make) => {
  const random = createRandom(SEED)
  const format = getFormat(id)
  const accepted: string[] = []
  for (let n = 0; n < MUTANTS; n++) {
    const file = await spoolBytes(folder, `${n}.${id}`, await make(random))
    try {
      await format.inspect(file, new AbortController().signal)
      for await (const { open } of format.inner(file))
        for await (const chunk of open()) expect(chunk.length).toBeGreaterThanOrEqual(0)
      accepted.push(file.path)
    } catch (error) {
      if (!isRefusal(error, 'bad_package'))
        throw new Error(`mutant ${n} of seed ${SEED} is neither taken nor refused`, { cause: error })
      await file.discard()
    }
  }
  expect(accepted.length).toBeGreaterThan(MUTANTS / 30)
  if (!HAS[id]) return
  for (const path of accepted) {
    const root = await mkdtemp(join(folder, 'root-'))
    expect(await INSTALL[id](path, root), path).toBe('')
    await rm(root, { recursive: true, force: true })
  }
})
