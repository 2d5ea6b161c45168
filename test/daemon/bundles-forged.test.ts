import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { RefRow } from '../../server/imports/bundle/manifest.ts'
import { fileHeader } from '../../server/lib/tar-writer.ts'
import { startDaemon } from '../support/daemon.ts'
import { createForger, type Forged } from '../support/forged-bundles.ts'
import { buildDeb } from '../support/packages.ts'
import { run } from '../support/tools.ts'
import { askImport, ended, settle, type Installation } from '../support/sites.ts'

let folder: string
let media: string
let site: Installation
let forger: Awaited<ReturnType<typeof createForger>>
let hello: Buffer
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-forged-'))
  media = join(folder, 'media')
  await mkdir(media)
  site = await settle(await startDaemon({ env: { IMPORT_ROOTS: media } }), ['bookworm'])
  forger = await createForger(folder)
  const body = { name: 'forger', public_key: forger.publicKey }
  expect((await site.daemon.call('POST', '/bundles/senders', { token: site.token, body })).status).toBe(201)
  hello = await buildDeb({ name: 'hello', version: '1.0' })
})
afterAll(async () => {
  await site.daemon.close()
  await rm(folder, { recursive: true, force: true })
})

const HELLO: RefRow = ['deb', 'bookworm', 'hello', '1.0', 'amd64']

interface Import {
  readonly state: string
  readonly not_published: readonly { readonly outcome: string; readonly why: string }[]
  readonly data: readonly { readonly name: string; readonly outcome: string; readonly why: string | null }[]
}

/** Takes it in. @returns what the job says, and what the list of imports says */
async function take(bytes: Buffer, name = 'some.bundle.tar') {
  const asked = await askImport(site, bytes, { name })
  if (asked.status !== 202) return { refused: asked.text, status: asked.status }
  const job = await ended(site, asked.body.job_id)
  const { body } = await site.daemon.call<{ imports: Import[] }>('GET', '/bundles', { token: site.token })
  return { refused: job.error?.message, job, last: body.imports[0] }
}

/** Everything that a bundle could change. */
async function stateOf(): Promise<unknown> {
  const { token, daemon } = site
  const { body: packages } = await daemon.call('GET', '/packages/?per_page=200', { token })
  const { body: senders } = await daemon.call('GET', '/bundles/senders', { token })
  return { packages, senders }
}

describe('a pinned sender whose bundles are not as they must be', () => {
  test('file names that lead elsewhere lead nowhere', async () => {
    const packages = [{ ref: HELLO, name: '../../../../../../tmp/gh-forged-escape.deb', bytes: hello }]
    const data = [
      { kind: 'antivirus', name: '../../escape.cvd', bytes: Buffer.from('x') },
      { kind: 'vulnerability', name: '../../../escape/all.zip', bytes: Buffer.from('x') },
      { kind: 'weather', name: '/etc/weather', bytes: Buffer.from('rain') },
    ]
    const taken = await take(await forger.forge({ number: 1, packages, data }))
    expect(taken.job?.result).toMatchObject({ published: 1 })
    expect(taken.last?.data).toEqual([
      { kind: 'vulnerability', name: '../../../escape/all.zip', outcome: 'failed', why: expect.any(String) as string },
      { kind: 'antivirus', name: '../../escape.cvd', outcome: 'failed', why: 'Its name is none of a signature file.' },
      {
        kind: 'weather',
        name: '/etc/weather',
        outcome: 'unknown_kind',
        why: expect.stringContaining('weather') as string,
      },
    ])
    // folders go while it looks: find goes on then, readdir throws
    expect((await run('find', [site.daemon.root, '-name', '*escape*'], {})).out).toBe('')
    expect((await readdir('/tmp')).filter(name => name.includes('gh-forged-escape'))).toEqual([])
  })

  test('a package that is another one than the list says is refused, and not taken to be there', async () => {
    const before = await stateOf()
    const other = await buildDeb({ name: 'other', version: '1.0' })
    const needing = await buildDeb({ name: 'needing', version: '1.0', fields: { Depends: 'wished' } })
    const taken = await take(
      await forger.forge({
        number: 2,
        packages: [
          { ref: ['deb', 'bookworm', 'wished', '1.0', 'amd64'], name: 'wished.deb', bytes: other },
          { ref: ['deb', 'bookworm', 'needing', '1.0', 'amd64'], name: 'needing.deb', bytes: needing },
        ],
        change: manifest => ({
          ...manifest,
          packages: manifest.packages.map((one, n) => (n === 1 ? { ...one, needs: [[0]] } : one)),
        }),
      }),
    )
    expect(taken.job?.result).toMatchObject({ published: 0, refused: 1, waits: 1 })
    expect(taken.last?.not_published).toMatchObject([
      { name: 'wished', outcome: 'refused', why: expect.stringContaining('and the file is deb:other@1.0') as string },
      { name: 'needing', outcome: 'waits', why: 'It needs wished 1.0 (amd64, bookworm), which is not here.' },
    ])
    const { packages } = (await stateOf()) as { packages: unknown }
    expect(packages).toEqual((before as { packages: unknown }).packages)
  })

  test('a version that is here with other bytes stays, and what needs it comes', async () => {
    const other = await buildDeb({ name: 'hello', version: '1.0', fields: { Description: 'another' } })
    const after = await buildDeb({ name: 'after', version: '1.0', fields: { Depends: 'hello' } })
    const before = await site.daemon.call('GET', '/artifacts/hello/versions?distribution=bookworm', {
      token: site.token,
    })
    const bytes = await forger.forge({
      number: 3,
      packages: [
        { ref: HELLO, name: 'hello.deb', bytes: other },
        { ref: ['deb', 'bookworm', 'after', '1.0', 'amd64'], name: 'after.deb', bytes: after },
      ],
      change: list => ({
        ...list,
        packages: list.packages.map((one, n) => (n === 1 ? { ...one, needs: [[0]] } : one)),
      }),
    })
    const taken = await take(bytes)
    expect(taken.job?.result).toMatchObject({ published: 1, refused: 0, waits: 0, upstream_changed: 1 })
    expect(taken.last?.not_published).toMatchObject([
      { name: 'hello', outcome: 'upstream_changed', why: expect.stringContaining('with other bytes than the bundle') },
    ])
    expect(
      await site.daemon.call('GET', '/artifacts/hello/versions?distribution=bookworm', { token: site.token }),
    ).toMatchObject({
      body: before.body,
    })
  })

  test('lists that are wrong are refused, and nothing changes', async () => {
    const before = await stateOf()
    const one = { number: 4, packages: [{ ref: HELLO, name: 'hello.deb', bytes: hello }] }
    const wrong: [string, Forged['change'], RegExp][] = [
      ['a package without a member', list => ({ ...list, files: [] }), /has no member for/],
      ['a member twice', list => ({ ...list, files: [...list.files, ...list.files] }), /names a member twice/],
      ['another name', list => ({ ...list, number: 5 }), /the name or the date of the bundle is wrong/],
      ['a date that is none', list => ({ ...list, created_at: 'soon' }), /the name or the date/],
      ['a later form', list => ({ ...list, format: 3 as 1 }), /it has the format 3, and this release reads 1 and 2/],
      ['a receipt', list => ({ ...list, kind: 'receipt' as 'bundle' }), /it is no bundle/],
      ['a site that is a path', list => ({ ...list, site: '../x' }), /is wrong at \/site/],
      [
        'a codename that is too long',
        list => ({
          ...list,
          packages: list.packages.map(p => ({ ...p, ref: ['deb', 'x'.repeat(400), 'a', '1', 'all'] as typeof p.ref })),
        }),
        /is wrong at \/packages/,
      ],
    ]
    for (const [what, change, said] of wrong) {
      const taken = await take(await forger.forge({ ...one, ...(change === undefined ? {} : { change }) }))
      expect(taken.refused, what).toMatch(said)
    }
    expect(await stateOf()).toEqual(before)
  })

  test('sizes that are far too large are told before anything is read', async () => {
    const before = await stateOf()
    const bytes = await forger.forge({ number: 4, packages: [{ ref: HELLO, name: 'hello.deb', bytes: hello }] })
    // a list of 8 GB by its header
    const huge = Buffer.concat([fileHeader('north-0003/manifest.json', 0o77777777777), bytes.subarray(512)])
    expect((await take(huge)).refused).toMatch(/its list is larger than any is made/)
    const link = Buffer.from(bytes)
    link.write('2', 156, 'latin1') // a symbolic link
    expect((await take(link)).refused).toMatch(/damaged at its beginning/)
    expect(await stateOf()).toEqual(before)
  })

  test('a file on a medium is read where it lies below an allowed directory, and links lead nowhere', async () => {
    const before = await stateOf()
    const bytes = await forger.forge({ number: 4, packages: [{ ref: HELLO, name: 'hello.deb', bytes: hello }] })
    await writeFile(join(folder, 'outside.bundle.tar'), bytes)
    await symlink(join(folder, 'outside.bundle.tar'), join(media, 'link.bundle.tar'))
    const ask = (path: string) => site.daemon.call('POST', '/bundles/import', { token: site.token, body: { path } })
    for (const path of [
      join(media, 'link.bundle.tar'),
      join(folder, 'outside.bundle.tar'),
      join(media, '..', 'outside.bundle.tar'),
      '/etc/passwd',
    ]) {
      const { status, text } = await ask(path)
      expect([status, text], path).toEqual([422, expect.stringContaining('IMPORT_ROOTS') as string])
    }
    expect(await stateOf()).toEqual(before)
    const { body } = await site.daemon.call<{ media: { files: unknown[] }[] }>('GET', '/bundles/media', {
      token: site.token,
    })
    expect(body.media[0]?.files).toEqual([])
  })

  test('a refused upload is forgotten: a good copy of the same name and size comes in', async () => {
    const bytes = await forger.forge({ number: 4, packages: [{ ref: HELLO, name: 'hello.deb', bytes: hello }] })
    const flipped = Buffer.from(bytes)
    const at = bytes.length - 4_000
    flipped[at] = (flipped[at] ?? 0) ^ 1
    expect((await take(flipped)).refused).toContain('Nothing of it was taken in')
    expect((await take(bytes)).job?.result).toMatchObject({ already: 1 })
  })

  test('two at once come in one after the other, and the older one is refused when the newer one was first', async () => {
    const names = ['first', 'second']
    const bundles = await Promise.all(
      names.map(async name => ({ name, deb: await buildDeb({ name, version: '1.0' }) })),
    )
    const files: Buffer[] = []
    for (const [n, { name, deb }] of bundles.entries())
      files.push(
        await forger.forge({
          number: 5 + n,
          packages: [{ ref: ['deb', 'bookworm', name, '1.0', 'amd64'], name: `${name}.deb`, bytes: deb }],
        }),
      )
    const taken = await Promise.all(files.map((bytes, n) => take(bytes, `${n}.bundle.tar`)))
    const states = taken.map(({ job }) => job?.status)
    expect(states[1]).toBe('done')
    if (states[0] !== 'done') expect(taken[0]?.refused).toContain('has the number 5, and 6 of forger was taken already')
  })
})
