import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { malformedRpms } from '../../../test/support/malformed-rpm.ts'
import { oddRpms } from '../../../test/support/odd-rpm.ts'
import {
  expectAbortToClose,
  expectEarlyEndToClose,
  malformedSuite,
  openFiles,
  readStreams,
} from '../../../test/support/malformed-suite.ts'
import { RPM_COMPRESSIONS, buildRpm, rpmParts, type RpmSpec } from '../../../test/support/packages-rpm.ts'
import { spoolBytes } from '../../../test/support/packages.ts'
import { inner } from './inner.ts'
import { inspect } from './inspect.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rpm-inspect-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const signal = new AbortController().signal

const malformed = await malformedRpms()
malformedSuite({
  inspect,
  malformed,
  odd: await oddRpms(),
  proveOdd: ({ identity }) => {
    expect(identity).toEqual({ format: 'rpm', name: 'odd', version: '1.0-1', arch: 'x86_64' })
  },
})

test('a package gives every fact that the catalogue keeps', async () => {
  const bytes = await buildRpm({
    name: 'libwidget',
    version: '2.0~rc1',
    release: '3.el9',
    epoch: 1,
    arch: 'x86_64',
    compression: 'zst',
    sourcerpm: 'widget-2.0~rc1-3.el9.src.rpm',
    summary: 'does things',
    description: 'It does many things.\n\n * one',
    license: 'MIT',
    url: 'https://example.test/',
    packager: 'Jo <jo@example.test>',
    vendor: 'Example',
    group: 'System/Libraries',
    modularity: 'widget:2:8090020240101:abcdef12',
    files: {
      'usr/bin/widget': '#!/bin/sh\n',
      'usr/share/widget/data': 'x',
      'usr/share/widget': { dir: true },
      'var/log/widget': { ghost: true },
    },
    requires: [
      '/bin/sh',
      '/usr/share/widget/data',
      'pre:shadow',
      'libc.so.6()(64bit)',
      'gadget >= 2:1.0',
      '(a or b >= 3)',
      '(c if d)',
      '/bin/sh',
    ],
    provides: ['widget-api = 2.0', 'widget-thing', 'config(libwidget) = 1:2.0~rc1-3.el9'],
    conflicts: ['gadget < 1', '(x and y)'],
    obsoletes: ['oldwidget < 2'],
    recommends: ['doc'],
    changelog: [
      { author: 'Jo - 2.0', at: 1_700_000_100, text: '- new' },
      { author: 'Jo - 1.0', at: 1_700_000_000, text: '- first' },
    ],
  })
  const bound = { epoch: '1', version: '2.0~rc1', release: '3.el9' }
  const own = [
    { name: 'libwidget', op: '=', evr: bound },
    { name: 'libwidget(x86-64)', op: '=', evr: bound },
  ]
  expect(await inspect(await spoolBytes(folder, 'w.rpm', bytes), signal)).toEqual({
    identity: { format: 'rpm', name: 'libwidget', version: '1:2.0~rc1-3.el9', arch: 'x86_64' },
    about: {
      summary: 'does things',
      description: 'It does many things.\n\n * one',
      source: 'widget',
      source_version: '2.0~rc1-3.el9',
      homepage: 'https://example.test/',
      maintainer: 'Jo <jo@example.test>',
      section: 'System/Libraries',
      license: 'MIT',
      installed_size: 11,
      depends: [
        [{ name: '/bin/sh' }],
        [{ name: '/usr/share/widget/data' }],
        [{ name: 'shadow' }],
        [{ name: 'libc.so.6()(64bit)' }],
        [{ name: 'gadget', op: '>=', version: '2:1.0' }],
        [{ name: 'a' }, { name: 'b', op: '>=', version: '3' }],
      ],
      provides: [
        { name: 'libwidget', version: '1:2.0~rc1-3.el9' },
        { name: 'libwidget(x86-64)', version: '1:2.0~rc1-3.el9' },
        { name: 'widget-api', version: '2.0' },
        { name: 'widget-thing' },
        { name: 'config(libwidget)', version: '1:2.0~rc1-3.el9' },
        { name: '/usr/bin/widget' },
        { name: '/usr/share/widget/data' },
      ],
      conflicts: [[{ name: 'gadget', op: '<', version: '1' }]],
    },
    facts: {
      epoch: '1',
      version: '2.0~rc1',
      release: '3.el9',
      summary: 'does things',
      description: 'It does many things.\n\n * one',
      packager: 'Jo <jo@example.test>',
      url: 'https://example.test/',
      built: 1_700_000_000,
      installed: 11,
      archive: 536,
      license: 'MIT',
      vendor: 'Example',
      group: 'System/Libraries',
      buildhost: 'build.example.test',
      sourcerpm: 'widget-2.0~rc1-3.el9.src.rpm',
      header: [360, bytes.indexOf(Buffer.from('28b52ffd', 'hex'))],
      provides: [
        ...own,
        { name: 'widget-api', op: '=', evr: { version: '2.0' } },
        { name: 'widget-thing' },
        { name: 'config(libwidget)', op: '=', evr: bound },
      ],
      requires: [
        { name: '/bin/sh' },
        { name: '/usr/share/widget/data' },
        { name: 'shadow', pre: true },
        { name: 'libc.so.6()(64bit)' },
        { name: 'gadget', op: '>=', evr: { epoch: '2', version: '1.0' } },
        { name: '(a or b >= 3)' },
        { name: '(c if d)' },
        { name: '/bin/sh' },
      ],
      conflicts: [{ name: 'gadget', op: '<', evr: { version: '1' } }, { name: '(x and y)' }],
      obsoletes: [{ name: 'oldwidget', op: '<', evr: { version: '2' } }],
      suggests: [],
      enhances: [],
      recommends: [{ name: 'doc' }],
      supplements: [],
      files: [
        { path: '/usr/bin/widget' },
        { path: '/usr/share/widget', type: 'dir' },
        { path: '/usr/share/widget/data' },
        { path: '/var/log/widget', type: 'ghost' },
      ],
      changelog: [
        { author: 'Jo - 2.0', at: 1_700_000_100, text: '- new' },
        { author: 'Jo - 1.0', at: 1_700_000_000, text: '- first' },
      ],
      modularity: 'widget:2:8090020240101:abcdef12',
    },
    paths: ['usr/bin/widget', 'usr/share/widget/data'],
  })
})

test.each([
  ['foo-bar-1.0-2.el9.src.rpm', 'foo-bar', '1.0-2.el9'],
  ['foo-1.0-2.nosrc.rpm', 'foo', '1.0-2'],
  ['(none)', 'odd', '1.0-1'],
  ['../../x-1-1.src.rpm', 'odd', '1.0-1'],
  ['foo.src.rpm', 'odd', '1.0-1'],
])('the source of a package with the source rpm %s is %s %s', async (sourcerpm, source, version) => {
  const found = await inspect(
    await spoolBytes(
      folder,
      's.rpm',
      await buildRpm({ name: 'odd', version: '1.0', release: '1', epoch: 4, sourcerpm }),
    ),
    signal,
  )
  expect(found.about).toMatchObject({ source, source_version: version })
})

test('of a changelog the ten newest entries are kept', async () => {
  const changelog = Array.from({ length: 30 }, (_, i) => ({ author: `A${i}`, at: 1_700_000_000 - i, text: 'x' }))
  const { facts } = await inspect(
    await spoolBytes(folder, 'c.rpm', await buildRpm({ name: 'odd', version: '1', release: '1', changelog })),
    signal,
  )
  expect(facts.changelog).toEqual(changelog.slice(0, 10))
})

test('an aborted inspection stops and closes the file', async () => {
  const bytes = await buildRpm({
    name: 'big',
    version: '1',
    release: '1',
    compression: 'none',
    files: { 'usr/big': Buffer.alloc(64 * 2 ** 20) },
  })
  const file = await spoolBytes(folder, 'big.rpm', bytes)
  await expectAbortToClose(inspect, file)
})

describe('the inner streams', () => {
  const read = async (bytes: Buffer): Promise<Record<string, Buffer>> =>
    readStreams(inner, await spoolBytes(folder, 'i.rpm', bytes))

  test('a large payload arrives whole through every decoder', async () => {
    const noise = Buffer.from(Array.from({ length: 1_500_000 }, (_, i) => ((i * 2654435761) >>> 13) & 0xff))
    const spec = {
      name: 'large',
      version: '1',
      release: '1',
      files: { 'usr/noise': noise, 'usr/zeros': Buffer.alloc(1_500_000) },
    }
    const { payload } = await rpmParts({ ...spec, compression: 'none' })
    for (const compression of RPM_COMPRESSIONS) {
      expect((await read(await buildRpm({ ...spec, compression })))['payload.cpio']?.equals(payload), compression).toBe(
        true,
      )
    }
    const large = (await read(await buildRpm({ ...spec, large: true })))['payload.cpio']
    expect(large?.includes(noise)).toBe(true)
    expect(large?.length).toBe(payload.length)
  })

  test('a package without scripts has one stream, another has two', async () => {
    const spec = { name: 'one', version: '1', release: '1' }
    expect(Object.keys(await read(await buildRpm(spec)))).toEqual(['payload.cpio'])
    expect(Object.keys(await read(await buildRpm({ ...spec, scripts: { pre: 'x' } })))).toEqual([
      'payload.cpio',
      'scripts',
    ])
  })

  test('a damaged payload is refused while it is read, never cut short', async () => {
    const rows = malformed.filter(row =>
      /corrupt|cut off|behind|changed byte in the payload|header does not list|twice in the payload/.test(row.name),
    )
    expect(rows.length).toBeGreaterThan(20)
    for (const { name, bytes } of rows) await expect(read(bytes), name).rejects.toMatchObject({ code: 'bad_package' })
  })

  test('a package that is refused when its streams are asked for leaves no file open', async () => {
    const before = await openFiles()
    for (const { bytes } of malformed.filter(row => row.bytes.length < 10_000)) await read(bytes).catch(() => undefined)
    expect(await openFiles()).toBeLessThanOrEqual(before)
  })

  test('a stream that is not read to its end closes its file', async () => {
    const file = await spoolBytes(
      folder,
      'e.rpm',
      await buildRpm({
        name: 'early',
        version: '1',
        release: '1',
        compression: 'xz',
        files: { 'usr/x': Buffer.alloc(8_000_000, 'abcdefg') },
      }),
    )
    await expectEarlyEndToClose(inner, file)
  })
})

test.each<[string, Partial<RpmSpec>, string | undefined]>([
  ['hello-debuginfo', { group: 'Development/Debug' }, 'debug'],
  ['hello-debuginfo', { provides: ['debuginfo(build-id) = 0123456789abcdef'] }, 'debug'],
  ['hello-debugsource', { group: 'Development/Debug' }, 'debug'],
  ['hello-debuginfo', {}, undefined],
  ['hello', { group: 'Development/Debug' }, undefined],
  ['hello', { sourcerpm: '' }, 'source'],
])('what %s with %j is', async (name, more, kind) => {
  const bytes = await buildRpm({ name, version: '1.0', release: '1', ...more })
  const file = await spoolBytes(folder, 'kind.rpm', bytes)
  expect((await inspect(file, new AbortController().signal)).kind).toBe(kind)
})
