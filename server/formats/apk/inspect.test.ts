import { createHash, createVerify, generateKeyPairSync } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkPackage, splitMembers } from '../../../test/support/apk.ts'
import { malformedApks } from '../../../test/support/malformed-apk.ts'
import { oddApks } from '../../../test/support/odd-apk.ts'
import { expectAbortToClose, malformedSuite, readStreams } from '../../../test/support/malformed-suite.ts'
import { apkParts, buildApk, gz, packApk } from '../../../test/support/packages-apk.ts'
import { EICAR, spoolBytes } from '../../../test/support/packages.ts'
import { inner } from './inner.ts'
import { inspect } from './inspect.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'apk-inspect-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const signal = new AbortController().signal

malformedSuite({
  inspect,
  malformed: malformedApks(),
  odd: await oddApks(),
  proveOdd: ({ identity, facts: { checksum } }, bytes) => {
    expect(identity).toEqual({ format: 'apk', name: 'odd', version: '1.0-r1', arch: 'x86_64' })
    expect(
      checkPackage(bytes, { C: checksum, P: 'odd', V: '1.0-r1', S: String(bytes.length) }).filter(
        one => !/datahash/.test(one),
      ),
    ).toEqual([])
  },
})

test('a package gives every fact that the catalogue keeps', async () => {
  const bytes = await buildApk({
    name: 'libwidget',
    version: '2.0_rc1-r3',
    arch: 'noarch',
    fields: {
      pkgdesc: 'does things',
      size: '12288',
      origin: 'widget',
      commit: '0123abcd',
      maintainer: 'Jo <jo@example.test>',
      license: 'MIT AND BSD-2-Clause',
      builddate: '1700000001',
      depend: ['musl>=1.2', 'so:libz.so.1', '!gadget', 'python3~3.12'],
      provides: ['so:libwidget.so.1=1.0.2', 'widget-api'],
      replaces: ['widget-old'],
      install_if: 'docs widget=2.0_rc1-r3',
      provider_priority: '10',
      replaces_priority: '2',
    },
    files: { 'usr/lib/libwidget.so': 'x', 'usr/lib/libwidget.so.1': { symlink: 'libwidget.so' } },
    scripts: { 'post-install': '#!/bin/sh\n' },
  })
  const control = splitMembers(bytes)[0]?.packed ?? Buffer.alloc(0)
  expect(await inspect(await spoolBytes(folder, 'w.apk', bytes), signal)).toEqual({
    identity: { format: 'apk', name: 'libwidget', version: '2.0_rc1-r3', arch: 'noarch' },
    about: {
      summary: 'does things',
      description: '',
      source: 'widget',
      source_version: '2.0_rc1-r3',
      homepage: 'https://example.test/',
      maintainer: 'Jo <jo@example.test>',
      license: 'MIT AND BSD-2-Clause',
      installed_size: 12288,
      depends: [
        [{ name: 'musl', op: '>=', version: '1.2' }],
        [{ name: 'so:libz.so.1' }],
        [{ name: 'python3', op: '=', version: '~3.12' }],
      ],
      provides: [
        { name: 'libwidget', version: '2.0_rc1-r3' },
        { name: 'so:libwidget.so.1', version: '1.0.2' },
        { name: 'widget-api' },
      ],
      conflicts: [[{ name: 'gadget' }]],
    },
    facts: {
      checksum: `Q1${createHash('sha1').update(control).digest('base64')}`,
      description: 'does things',
      url: 'https://example.test/',
      license: 'MIT AND BSD-2-Clause',
      origin: 'widget',
      maintainer: 'Jo <jo@example.test>',
      commit: '0123abcd',
      built: 1700000001,
      installed: 12288,
      depends: ['musl>=1.2', 'so:libz.so.1', '!gadget', 'python3~3.12'],
      provides: ['so:libwidget.so.1=1.0.2', 'widget-api'],
      replaces: ['widget-old'],
      installIf: ['docs', 'widget=2.0_rc1-r3'],
      providerPriority: 10,
      replacesPriority: 2,
    },
    paths: ['usr/lib/libwidget.so', 'usr/lib/libwidget.so.1'],
  })
})

test('its signature is handed on with the bytes it is over, and the checksum is of the control member alone', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const plain = await inspect(
    await spoolBytes(folder, 'p.apk', await buildApk({ name: 'signed', version: '1' })),
    signal,
  )
  for (const hash of ['sha1', 'sha256'] as const) {
    const bytes = await buildApk({
      name: 'signed',
      version: '1',
      sign: { keyName: 'builder.rsa.pub', privateKey: pem, hash },
    })
    const { signature, facts } = await inspect(await spoolBytes(folder, 's.apk', bytes), signal)
    expect(signature).toMatchObject({ kind: 'rsa', keyName: 'builder.rsa.pub', hash })
    expect(facts.checksum).toBe(plain.facts.checksum)
    const verify = createVerify(hash)
    for await (const chunk of signature?.signed() ?? []) verify.update(chunk as Buffer)
    expect(verify.verify(publicKey, signature?.signature ?? Buffer.alloc(0))).toBe(true)
  }
})

test('an aborted inspection stops and closes the file', async () => {
  const big = packApk({ control: apkParts({ name: 'big', version: '1' }).control, data: Buffer.alloc(64 * 2 ** 20) })
  const file = await spoolBytes(folder, 'big.apk', big)
  await expectAbortToClose(inspect, file)
})

describe('the inner streams', () => {
  const read = async (bytes: Buffer): Promise<Record<string, Buffer>> =>
    readStreams(inner, await spoolBytes(folder, 'i.apk', bytes))

  test('are the plain tars of the members, each by itself', async () => {
    const spec = { name: 'sick', version: '1', files: { 'usr/bin/sick': EICAR }, scripts: { 'post-install': EICAR } }
    const { control, data } = apkParts(spec)
    const streams = await read(await buildApk(spec))
    expect(Object.keys(streams)).toEqual(['control.tar', 'data.tar'])
    expect(streams['control.tar']?.equals(control)).toBe(true)
    expect(streams['data.tar']?.equals(data)).toBe(true)
  })

  test('are shown of a signed package too, with the signature member', async () => {
    const { privateKey } = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    })
    const streams = await read(
      await buildApk({ name: 'sick', version: '1', sign: { keyName: 'k.rsa.pub', privateKey } }),
    )
    expect(Object.keys(streams)).toEqual(['signature.tar', 'control.tar', 'data.tar'])
  })

  test('a large payload arrives whole', async () => {
    const noise = Buffer.from(Array.from({ length: 3_000_000 }, (_, i) => ((i * 2654435761) >>> 13) & 0xff))
    const spec = { name: 'large', version: '1', files: { 'usr/noise': noise, 'usr/zeros': Buffer.alloc(3_000_000) } }
    expect((await read(await buildApk(spec)))['data.tar']?.equals(apkParts(spec).data)).toBe(true)
  })

  test('what follows the data member is refused while it is read, never left out', async () => {
    const whole = await buildApk({ name: 'x1', version: '1' })
    for (const behind of [
      Buffer.from('x'),
      Buffer.alloc(512),
      gz(apkParts({ name: 'y', version: '1', files: { evil: EICAR } }).data),
    ]) {
      await expect(read(Buffer.concat([whole, behind]))).rejects.toMatchObject({ code: 'bad_package' })
    }
  })
})
