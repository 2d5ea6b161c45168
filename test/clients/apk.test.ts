import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { apkProgram, createApkRoot, readServedApks, walkTar, splitMembers, type ApkRoot } from '../support/apk.ts'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildApk } from '../support/packages-apk.ts'

interface KeyCard {
  readonly key_name: string
  readonly role: string
}

let daemon: Daemon
let token: string
const roots: ApkRoot[] = []
beforeAll(async () => {
  daemon = await startDaemon()
  token = await daemon.setupAdmin()
  const init = await daemon.call('POST', '/distributions/init', { token, body: { codename: 'alpine3.20' } })
  expect(init, init.text).toMatchObject({ status: 200 })
}, 90_000)
afterAll(async () => {
  for (const root of roots) await root.close()
  await daemon.close()
})

async function publish(content: Buffer, distribution = 'alpine3.20'): Promise<void> {
  const answer = await daemon.upload(content, { token, filename: 'package.apk', distribution })
  expect(answer, answer.text).toMatchObject({ status: 201, body: { status: 'published' } })
}
const keyNames = async (): Promise<KeyCard[]> =>
  (await daemon.call<{ apk_keys: KeyCard[] }>('GET', '/settings/gpg', { token })).body.apk_keys
const raw = async (path: string): Promise<Buffer> =>
  Buffer.from(await (await fetch(`${daemon.url}${path}`)).arrayBuffer())
const served = (codename = 'alpine3.20'): ReturnType<typeof readServedApks> => readServedApks(daemon.url, codename)

describe('the served tree, by the rules of apk-tools', () => {
  test('a new distribution has a signed index with nothing in it, and says how clients come to its key', async () => {
    const index = await served()
    expect(index).toMatchObject({ problems: [], packages: [], description: 'Gatehouse alpine3.20' })
    const [key, ...more] = await keyNames()
    expect(more).toEqual([])
    expect(index.signatures.map(({ name }) => name)).toEqual([
      `.SIGN.RSA256.${key?.key_name}`,
      `.SIGN.RSA.${key?.key_name}`,
    ])
    const setup = await daemon.call('GET', '/distributions/alpine3.20/setup', { token })
    expect(setup.text).toContain(`wget -P /etc/apk/keys ${daemon.url}/apk/${key?.key_name}`)
    expect(setup.body).toMatchObject({
      key_url: `${daemon.url}/apk/${key?.key_name}`,
      public_key: (await raw(`/apk/${key?.key_name}`)).toString(),
    })
    expect(setup.text).toContain(`${daemon.url}/apk/alpine3.20/main`)
  })

  test('packages, also those for every architecture, are named and lie where clients ask for them', async () => {
    await publish(
      await buildApk({
        name: 'hello',
        version: '1.0-r0',
        fields: { depend: ['libhello>=1.0'], provides: ['cmd:hello=1.0-r0'] },
        files: { 'usr/bin/hello': '#!/bin/sh\necho hello\n' },
      }),
    )
    await publish(await buildApk({ name: 'libhello', version: '1.0_rc1-r0' }))
    await publish(await buildApk({ name: 'libhello', version: '1.0-r0' }))
    await publish(
      await buildApk({
        name: 'hello-doc',
        version: '1.0-r0',
        arch: 'noarch',
        fields: { origin: 'hello', install_if: 'docs hello=1.0-r0', replaces: ['old-doc'], provider_priority: '5' },
      }),
    )
    const { packages, problems } = await served()
    expect(problems).toEqual([])
    expect(packages.map(({ P, V, A }) => `${P} ${V} ${A}`)).toEqual([
      'hello 1.0-r0 x86_64',
      'libhello 1.0_rc1-r0 x86_64',
      'libhello 1.0-r0 x86_64',
      'hello-doc 1.0-r0 x86_64',
    ])
    expect(packages[0]).toMatchObject({ D: 'libhello>=1.0', p: 'cmd:hello=1.0-r0' })
    expect(packages[3]).toMatchObject({ o: 'hello', i: 'docs hello=1.0-r0', r: 'old-doc', k: '5' })
    expect(await daemon.call('GET', '/artifacts/hello/install?distribution=alpine3.20', { token })).toMatchObject({
      status: 200,
      body: { command: 'apk add hello=1.0-r0' },
    })
  })

  test('one version is one package: clients ask for it by name and version, so a second one for another architecture is refused', async () => {
    const forAll = await buildApk({ name: 'twice', version: '1.0-r0', arch: 'noarch' })
    const [one, other] = [forAll, await buildApk({ name: 'twice', version: '1.0-r0' })]
    const answers = await Promise.all(
      [one, other].map(content =>
        daemon.upload(content, { token, filename: 'package.apk', distribution: 'alpine3.20' }),
      ),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409])
    const refused = answers.find(({ status }) => status === 409)
    const kept = answers.find(({ status }) => status === 201)?.body
    expect(refused?.body).toMatchObject({ detail: { error: 'duplicate_conflict', existing_sha256: kept?.sha256 } })
    expect(refused?.text).toContain(`twice@1.0-r0/${kept?.arch}`)
    const { packages, problems } = await served()
    expect([problems, packages.filter(({ P }) => P === 'twice')]).toEqual([
      [],
      [expect.objectContaining({ V: '1.0-r0' })],
    ])
    expect(await raw('/apk/alpine3.20/main/x86_64/twice-1.0-r0.apk')).toEqual(kept?.arch === 'noarch' ? one : other)
    // once one is deleted the other may come, and is what clients get, whichever was first
    let there = kept?.arch
    for (let n = 0; n < 2; n++) {
      expect(await daemon.call('DELETE', '/artifacts/twice/1.0-r0', { token })).toMatchObject({ status: 200 })
      there = there === 'noarch' ? 'x86_64' : 'noarch'
      await publish(there === 'noarch' ? one : other)
      await expect
        .poll(() => raw('/apk/alpine3.20/main/x86_64/twice-1.0-r0.apk'))
        .toEqual(there === 'noarch' ? one : other)
    }
    expect(await daemon.call('DELETE', '/artifacts/twice/1.0-r0', { token })).toMatchObject({ status: 200 })
  })

  test('a deleted version leaves the index, the other one stays', async () => {
    expect(await daemon.call('DELETE', '/artifacts/libhello/1.0_rc1-r0', { token })).toMatchObject({ status: 200 })
    await expect
      .poll(async () => (await served()).packages.map(({ P, V }) => `${P} ${V}`))
      .toEqual(['hello 1.0-r0', 'libhello 1.0-r0', 'hello-doc 1.0-r0'])
    expect((await served()).problems).toEqual([])
  })

  test('the index is never cached, a package for ever, and nothing else is served', async () => {
    const head = async (path: string): Promise<readonly [number, string | null]> => {
      const answer = await fetch(`${daemon.url}/apk/${path}`)
      await answer.arrayBuffer()
      return [answer.status, answer.headers.get('cache-control')]
    }
    expect(await head('alpine3.20/main/x86_64/APKINDEX.tar.gz')).toEqual([200, 'no-cache'])
    expect(await head('alpine3.20/main/x86_64/hello-1.0-r0.apk')).toEqual([200, expect.stringContaining('immutable')])
    expect(await head('alpine3.20/main/armv7/APKINDEX.tar.gz')).toEqual([404, expect.anything()])
    expect(await head('alpine3.20/main/x86_64/hello-9-r0.apk')).toEqual([404, expect.anything()])
    expect(await head('keys/../../keyring')).toEqual([404, expect.anything()])
  })

  test('after a new signing key the index is signed by both, and both are served', async () => {
    const [old] = await keyNames()
    expect(
      await daemon.call('POST', '/settings/gpg/generate', { token, body: { type: 'ed25519Legacy', overlap_days: 30 } }),
    ).toMatchObject({ status: 201 })
    const keys = await keyNames()
    expect(keys.map(({ role }) => role)).toEqual(['current', 'previous'])
    expect(keys[1]?.key_name).toBe(old?.key_name)
    await expect.poll(async () => (await served()).signatures.length, { timeout: 60_000, interval: 500 }).toBe(4)
    const { problems, signatures } = await served()
    expect(problems).toEqual([])
    expect(new Set(signatures.map(({ keyName }) => keyName))).toEqual(new Set(keys.map(({ key_name }) => key_name)))
  }, 90_000)

  test('a refused package is in no index', async () => {
    const bytes = await buildApk({ name: 'bent', version: '1.0-r0', fields: { datahash: '0'.repeat(64) } })
    expect(await daemon.upload(bytes, { token, filename: 'bent.apk', distribution: 'alpine3.20' })).toMatchObject({
      status: 422,
    })
    expect(
      await daemon.upload(await buildApk({ name: 'hello', version: '2', arch: 'armv7' }), {
        token,
        distribution: 'alpine3.20',
      }),
    ).toMatchObject({ status: 422 })
    expect((await served()).packages.map(({ P }) => P)).toEqual(['hello', 'libhello', 'hello-doc'])
  })

  test('the same package in two distributions is two, and each has its own index', async () => {
    expect(await daemon.call('POST', '/distributions/init', { token, body: { codename: 'alpine3.21' } })).toMatchObject(
      { status: 200 },
    )
    await publish(await buildApk({ name: 'hello', version: '1.1-r0' }), 'alpine3.21')
    expect((await served('alpine3.21')).packages.map(({ P, V }) => `${P} ${V}`)).toEqual(['hello 1.1-r0'])
    expect((await served('alpine3.21')).problems).toEqual([])
  })
})

/** The same signatures over an index that says something else. */
function otherIndex(archive: Buffer): Buffer {
  const [signatures, index] = splitMembers(archive)
  const text = (index?.plain ?? Buffer.alloc(0)).toString('latin1').replace('P:hello\n', 'P:jello\n')
  return Buffer.concat([signatures?.packed ?? Buffer.alloc(0), gzipSync(Buffer.from(text, 'latin1'))])
}

describe.skipIf(apkProgram === undefined)('apk (needs an apk on PATH; Debian has none)', () => {
  const client = async (
    repository = `${daemon.url}/apk/alpine3.20/main`,
    keys?: Readonly<Record<string, string>>,
  ): Promise<ApkRoot> => {
    const all =
      keys ??
      Object.fromEntries(
        await Promise.all(
          (await keyNames()).map(
            async ({ key_name }) => [key_name, (await raw(`/apk/${key_name}`)).toString()] as const,
          ),
        ),
      )
    const root = await createApkRoot({ repository, keys: all })
    roots.push(root)
    return root
  }

  const ok = { code: 0, err: '' }
  const refused = {
    code: expect.toSatisfy((code: number) => code > 0) as number,
    err: expect.stringMatching(/UNTRUSTED signature|BAD signature/) as string,
  }

  test('update, install with what is needed, and update to a newer version, without --allow-untrusted', async () => {
    const root = await client()
    expect(await root.apk('update')).toMatchObject(ok)
    const added = await root.apk('add', 'hello')
    expect(added, added.out).toMatchObject(ok)
    expect(await readFile(join(root.folder, 'usr/bin/hello'), 'utf8')).toContain('echo hello')
    expect((await root.apk('info', '-e', 'libhello')).out).toContain('libhello')
    expect(await root.apk('add', 'hello-doc=1.0-r0')).toMatchObject(ok)
    await publish(
      await buildApk({ name: 'hello', version: '1.0-r1', files: { 'usr/bin/hello': '#!/bin/sh\necho again\n' } }),
    )
    expect(await root.apk('update')).toMatchObject(ok)
    expect(await root.apk('upgrade')).toMatchObject(ok)
    expect(await readFile(join(root.folder, 'usr/bin/hello'), 'utf8')).toContain('echo again')
  })

  test('each of two keys alone is enough during the overlap', async () => {
    for (const { key_name } of await keyNames()) {
      const root = await client(undefined, { [key_name]: (await raw(`/apk/${key_name}`)).toString() })
      expect(await root.apk('update'), key_name).toMatchObject(ok)
      expect(await root.apk('add', 'libhello')).toMatchObject(ok)
    }
  })

  test('without our key, and with a tampered index, it refuses', async () => {
    const stranger = await client(undefined, {})
    expect(await stranger.apk('add', 'hello')).toMatchObject(refused)
    const bent = createServer(
      (request, response) =>
        void raw(`/apk/alpine3.20${request.url}`).then(bytes => {
          response.end(request.url?.endsWith('APKINDEX.tar.gz') === true ? otherIndex(bytes) : bytes)
        }),
    )
    await new Promise<void>(resolve => bent.listen(0, '127.0.0.1', resolve))
    try {
      const address = bent.address()
      const root = await client(`http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/main`)
      expect(await root.apk('add', 'hello')).toMatchObject(refused)
    } finally {
      await new Promise(resolve => bent.close(resolve))
    }
  })
})

test('the index entry of a package matches its own members', async () => {
  const bytes = await raw('/apk/alpine3.20/main/x86_64/hello-1.0-r0.apk')
  const names = splitMembers(bytes).flatMap(({ plain }) => walkTar(plain).files.map(({ name }) => name))
  expect(names).toEqual(['.PKGINFO', 'usr/', 'usr/bin/', 'usr/bin/hello'])
})
