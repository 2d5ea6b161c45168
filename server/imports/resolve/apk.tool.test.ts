import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { apkProgram } from '../../../test/support/apk.ts'
import { APK_CASES, apkEntry } from '../../../test/support/closure-cases-apk.ts'
import { tar } from '../../../test/support/packages.ts'
import { run } from '../../../test/support/tools.ts'

if (apkProgram === undefined) console.warn('skipped: what apk makes of the cases of apk.test.ts, for want of apk')

describe.skipIf(apkProgram === undefined)('apk chooses as the cases of apk.test.ts say', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gh-closure-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test.each(APK_CASES.map((one, at) => ({ ...one, at })))('$rule', async ({ at, packages, root, closure }) => {
    const repository = join(folder, String(at))
    await mkdir(join(repository, 'x86_64'), { recursive: true })
    const index = packages.map(text => `${apkEntry(text)}\n\n`).join('')
    await writeFile(
      join(repository, 'x86_64/APKINDEX.tar.gz'),
      gzipSync(tar([{ name: 'APKINDEX', body: Buffer.from(index) }])),
    )
    const options = ['--root', join(repository, 'root'), '--arch', 'x86_64', '--no-cache', '--allow-untrusted']
    const apk = (...words: readonly string[]): ReturnType<typeof run> =>
      run(apkProgram ?? 'apk', [...options, '-X', repository, ...words])
    expect(await apk('--initdb', '--no-network', 'add')).toMatchObject({ code: 0 })
    const { code, out } = await apk('--simulate', 'add', root)
    const found = [...out.matchAll(/Installing (\S+) \((\S+)\)/g)].map(([, name = '', version = '']) => {
      const whole = `${name} ${version}`
      return closure?.includes(whole) === true ? whole : name
    })
    expect(code === 0 ? found.sort() : undefined).toEqual(closure)
  })
})
