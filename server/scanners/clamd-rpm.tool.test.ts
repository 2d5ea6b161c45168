import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasClamd, startClamd, type TestClamd } from '../../test/support/clamd.ts'
import { buildRpm, RPM_COMPRESSIONS, type RpmSpec } from '../../test/support/packages-rpm.ts'
import { EICAR, spoolBytes } from '../../test/support/packages.ts'
import { getDistribution } from '../../test/support/repositories.ts'
import { findProgram, run } from '../../test/support/tools.ts'
import type { SpooledFile } from '../files/spool.ts'
import { inner } from '../formats/rpm/inner.ts'
import { inspect } from '../formats/rpm/inspect.ts'
import { systemClock } from '../lib/clock.ts'
import { createClamd } from './clamd.ts'

const signal = new AbortController().signal

describe.skipIf(!hasClamd || findProgram('clamscan') === undefined)('a real ClamAV, shown an .rpm part by part', () => {
  let folder: string
  let clamd: TestClamd
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'rpm-clamd-'))
    // whole files alone, so that what is found was taken out of the archive
    writeFileSync(
      join(folder, 'local.hdb'),
      `${createHash('md5').update(EICAR).digest('hex')}:${EICAR.length}:Whole-File\n`,
    )
    clamd = await startClamd()
  })
  afterAll(async () => {
    await clamd.close()
    await rm(folder, { recursive: true, force: true })
  })

  const build = async (spec: Partial<RpmSpec>): Promise<SpooledFile> =>
    spoolBytes(folder, 'eicar.rpm', await buildRpm({ name: 'eicar', version: '1', release: '1', ...spec }))
  const byClamd = async (spec: Partial<RpmSpec>): Promise<unknown> => {
    const file = await build(spec)
    const { identity, about } = await inspect(file, signal)
    return createClamd({ address: clamd.address, clock: systemClock }).scan(
      { identity, about, distribution: getDistribution('fedora'), purl: '', inner: () => inner(file) },
      signal,
    )
  }
  async function streamOf(file: SpooledFile, name: string): Promise<Buffer> {
    const chunks: Buffer[] = []
    for await (const stream of inner(file))
      if (stream.name === name) for await (const chunk of stream.open()) chunks.push(chunk)
    return Buffer.concat(chunks)
  }
  /** The streams in which a file that is EICAR as a whole was found. */
  async function wholeFiles(spec: Partial<RpmSpec>): Promise<string[]> {
    const file = await build(spec)
    const infected: string[] = []
    for (const name of ['payload.cpio', 'scripts']) {
      writeFileSync(join(folder, name), await streamOf(file, name))
      if ((await run('clamscan', ['--no-summary', '-d', join(folder, 'local.hdb'), join(folder, name)])).code === 1)
        infected.push(name)
    }
    return infected
  }

  test.each(RPM_COMPRESSIONS)('finds a file in a payload of the kind %s', async compression => {
    const files = { 'usr/share/a': 'harmless', 'usr/share/eicar': EICAR }
    expect(await wholeFiles({ compression, files })).toEqual(['payload.cpio'])
    expect(await byClamd({ compression, files })).toMatchObject({ kind: 'infected', where: 'payload.cpio' })
  })
  test('finds a file in a payload of the form for large files', async () => {
    expect(await wholeFiles({ large: true, files: { 'usr/share/a': 'harmless', 'usr/share/eicar': EICAR } })).toEqual([
      'payload.cpio',
    ])
  })
  test.each(['pre', 'post', 'preun', 'postun', 'pretrans', 'posttrans', 'verify'] as const)(
    'finds it in the script %s, beside another',
    async script => {
      expect(
        await wholeFiles({ scripts: { [script === 'pre' ? 'post' : 'pre']: 'echo harmless\n', [script]: EICAR } }),
      ).toEqual(['scripts'])
    },
  )
  test('names the scripts where it is in one of them', async () => {
    expect(await byClamd({ scripts: { pre: 'echo pre', post: EICAR } })).toMatchObject({
      kind: 'infected',
      where: 'scripts',
    })
  })
  test('finds nothing where there is nothing', async () => {
    expect(await wholeFiles({ scripts: { pre: 'echo pre' } })).toEqual([])
    expect(await byClamd({ scripts: { pre: 'echo pre' } })).toEqual({ kind: 'clean' })
  })
})
