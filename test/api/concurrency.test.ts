import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'
import { readServedTree } from '../support/tree.ts'

interface PackagePage {
  readonly total: number
  readonly items: readonly {
    readonly name: string
    readonly version: string
    readonly sha256: string
    readonly status: string
  }[]
}

describe('many at once', () => {
  let daemon: Daemon
  let token: string
  beforeAll(async () => {
    daemon = await startDaemon()
    token = await daemon.setupAdmin()
    await daemon.call('POST', '/distributions/init', { token, body: { codename: 'jammy' } })
  })
  afterAll(() => daemon.close())

  const generation = async (): Promise<number> => {
    const { body } = await daemon.call<{ distributions: { codename: string; generation: number }[] }>(
      'GET',
      '/distributions/',
      { token },
    )
    return body.distributions.find(({ codename }) => codename === 'jammy')?.generation ?? 0
  }
  const served = async (name: string): Promise<string[]> =>
    (await readServedTree(daemon.url, 'jammy')).packages
      .filter(({ Package }) => Package === name)
      .map(({ Version = '' }) => Version)

  test('60 uploads at once share publications, and each is in the index when its answer comes', async () => {
    const before = await generation()
    const answers = await Promise.all(
      Array.from({ length: 60 }, async (_, number) => {
        const answer = await daemon.upload(await buildDeb({ name: `crowd-${number}`, version: '1' }), { token })
        const tree = await fetch(`${daemon.url}/repos/dists/jammy/InRelease`)
        await tree.arrayBuffer()
        return answer
      }),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 60 }, () => 201))
    const { packages, problems } = await readServedTree(daemon.url, 'jammy')
    expect(problems).toEqual([])
    expect(packages.filter(({ Package = '' }) => Package.startsWith('crowd-'))).toHaveLength(60)
    expect((await generation()) - before).toBeLessThan(40)
  })

  test('the same bytes twelve times at once are one package', async () => {
    const content = await buildDeb({ name: 'same', version: '1' })
    const answers = await Promise.all(Array.from({ length: 12 }, () => daemon.upload(content, { token })))
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      ...Array.from({ length: 11 }, () => 200),
      201,
    ])
    expect(answers.filter(({ body }) => body.status === 'already_imported')).toHaveLength(11)
    expect(await served('same')).toEqual(['1'])
  })

  test('one version with twelve different contents at once: one wins, the others are told whose bytes are there', async () => {
    const answers = await Promise.all(
      Array.from({ length: 12 }, async (_, number) =>
        daemon.upload(await buildDeb({ name: 'torn', version: '1', files: { 'usr/share/torn': String(number) } }), {
          token,
        }),
      ),
    )
    const winner = answers.filter(({ status }) => status === 201)
    expect(winner).toHaveLength(1)
    for (const { status, body } of answers.filter(answer => answer !== winner[0])) {
      expect({ status, body }).toMatchObject({
        status: 409,
        body: { detail: { error: 'duplicate_conflict', existing_sha256: winner[0]?.body.sha256 } },
      })
    }
    const { packages } = await readServedTree(daemon.url, 'jammy')
    expect(packages.filter(({ Package }) => Package === 'torn').map(({ SHA256 }) => SHA256)).toEqual([
      winner[0]?.body.sha256,
    ])
  })

  test('uploading and deleting one version over and over ends as the last answer says', async () => {
    const content = await buildDeb({ name: 'flicker', version: '1' })
    await Promise.all(
      [1, 2, 3].map(async () => {
        for (let round = 0; round < 6; round++) {
          const up = await daemon.upload(content, { token })
          expect([200, 201], up.text).toContain(up.status)
          const down = await daemon.call('DELETE', '/artifacts/flicker/1', { token })
          expect([200, 404], down.text).toContain(down.status)
        }
      }),
    )
    expect(await served('flicker')).toEqual([])
    expect((await daemon.upload(content, { token })).status).toBe(201)
    expect(await served('flicker')).toEqual(['1'])
    expect((await readServedTree(daemon.url, 'jammy')).problems).toEqual([])
  })

  test('versions of one package uploaded at once stand side by side', async () => {
    await Promise.all(
      Array.from({ length: 20 }, async (_, number) =>
        daemon.upload(await buildDeb({ name: 'stack', version: `1.${number}` }), { token }),
      ),
    )
    expect((await served('stack')).toSorted()).toEqual(
      Array.from({ length: 20 }, (_, number) => `1.${number}`).toSorted(),
    )
  })

  test('an upload that is cut off when a part lies on disk leaves nothing behind', async () => {
    const controller = new AbortController()
    const head = '--cut\r\nContent-Disposition: form-data; name="file"; filename="cut.deb"\r\n\r\n'
    const sent = Buffer.concat([
      Buffer.from(head),
      await buildDeb({ name: 'cut', version: '1' }),
      Buffer.alloc(600_000),
    ])
    const body = new ReadableStream<Uint8Array>({ start: stream => stream.enqueue(sent) })
    const incoming = (): Promise<string[]> => readdir(join(daemon.root, 'incoming'))
    const sending = fetch(`${daemon.url}/api/v1/upload/`, {
      method: 'POST',
      body,
      duplex: 'half',
      signal: controller.signal,
      headers: { 'Authorization': `Bearer ${token}`, 'Content-Type': 'multipart/form-data; boundary=cut' },
    } as RequestInit)
    const cut = expect(sending).rejects.toThrow()
    await expect.poll(incoming).toHaveLength(1)
    controller.abort()
    await cut
    await expect.poll(incoming).toEqual([])
    const { body: page } = await daemon.call<PackagePage>('GET', '/packages/?q=cut', { token })
    expect(page.total).toBe(0)
  })

  test('SIGTERM in the middle: every answer that was given holds, and the exit code is 0', async () => {
    let ended: Promise<number | null> | undefined
    const lanes = Array.from({ length: 8 }, async (_, lane) => {
      const kept: string[] = []
      for (let number = 0; number < 200; number++) {
        const name = `term-${lane}-${number}`
        const answer = await daemon.upload(await buildDeb({ name, version: '1' }), { token }).catch(() => undefined)
        if (answer === undefined) break
        if (answer.status === 201) kept.push(name)
        if (kept.length === 3 && lane === 0) ended ??= daemon.stop()
      }
      return kept
    })
    const kept = (await Promise.all(lanes)).flat()
    expect(await ended).toBe(0)
    expect(kept.length).toBeGreaterThan(3)
    // what was on its way is finished; a client that goes on asking over its old connection is turned away
    expect(kept.length).toBeLessThan(8 * 100)
    await daemon.restart()
    const { packages, problems } = await readServedTree(daemon.url, 'jammy')
    expect(problems).toEqual([])
    expect(packages.map(({ Package }) => Package)).toEqual(expect.arrayContaining(kept))
  })
})
