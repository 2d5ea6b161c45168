import { generateKeyPairSync } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasClamd, startClamd, type TestClamd } from '../../test/support/clamd.ts'
import { buildApk, type ApkSpec } from '../../test/support/packages-apk.ts'
import { EICAR, spoolBytes, tar } from '../../test/support/packages.ts'
import { getDistribution } from '../../test/support/repositories.ts'
import { apk } from '../formats/apk/index.ts'
import { systemClock } from '../lib/clock.ts'
import { createClamd } from './clamd.ts'
import type { AntivirusAnswer, ScanSubject } from './scanner.ts'

const never = new AbortController().signal
const { privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
})

describe.skipIf(!hasClamd)('a real clamd, shown an .apk member by member', () => {
  let clamd: TestClamd
  let folder: string
  beforeAll(async () => {
    clamd = await startClamd()
    folder = await mkdtemp(join(tmpdir(), 'apks-'))
  })
  afterAll(async () => {
    await clamd.close()
    await rm(folder, { recursive: true, force: true })
  })

  async function scan(spec: Partial<ApkSpec>): Promise<AntivirusAnswer> {
    const file = await spoolBytes(folder, 'a.apk', await buildApk({ name: 'a', version: '1', ...spec }))
    const subject: ScanSubject = {
      identity: { format: 'apk', name: 'a', version: '1', arch: 'x86_64' },
      distribution: getDistribution('alpine3.20'),
      purl: '',
      inner: () => apk.inner(file),
      about: {
        summary: '',
        description: '',
        source: 'a',
        source_version: '1',
        depends: [],
        provides: [],
        conflicts: [],
      },
    }
    return createClamd({ address: clamd.address, clock: systemClock }).scan(subject, never)
  }
  const infected = (where: string): unknown => ({
    kind: 'infected',
    signature: expect.stringContaining('Eicar') as string,
    where,
  })

  test.each([
    ['unsigned', {}],
    ['signed', { sign: { keyName: 'k.rsa.pub', privateKey } }],
  ] as const)('finds EICAR in data and in scripts, and nothing where there is nothing: %s', async (_, more) => {
    expect(await scan({ ...more, files: { 'usr/bin/a': 'fine' }, scripts: { 'post-install': '#!/bin/sh\n' } })).toEqual(
      { kind: 'clean' },
    )
    expect(await scan({ ...more, files: { 'usr/bin/a': 'fine', 'usr/share/eicar.com': EICAR } })).toMatchObject(
      infected('data.tar') as object,
    )
    expect(await scan({ ...more, scripts: { 'pre-install': '#!/bin/sh\n', 'post-install': EICAR } })).toMatchObject(
      infected('control.tar') as object,
    )
  })

  test('finds it in an archive in the data, and in a file that apk does not install', async () => {
    const nested = gzipSync(tar([{ name: 'eicar.com', body: EICAR }]))
    expect(await scan({ files: { 'usr/share/nested.tar.gz': nested } })).toMatchObject(infected('data.tar') as object)
    expect(await scan({ files: { '.hidden': EICAR, 'usr/bin/a': 'fine' } })).toMatchObject(
      infected('data.tar') as object,
    )
  })
})
