import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { malformedDebs } from '../../../test/support/malformed-deb.ts'
import { oddDebs } from '../../../test/support/odd-deb.ts'
import {
  expectAbortToClose,
  expectEarlyEndToClose,
  malformedSuite,
  readStreams,
} from '../../../test/support/malformed-suite.ts'
import { EICAR, ar, buildDeb, debParts, packDeb, spoolBytes } from '../../../test/support/packages.ts'
import { inner } from './inner.ts'
import { inspect } from './inspect.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'deb-inspect-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const signal = new AbortController().signal

const malformed = await malformedDebs()
malformedSuite({
  inspect,
  malformed,
  odd: await oddDebs(),
  proveOdd: ({ identity, facts: { control } }) => {
    expect(identity).toEqual({ format: 'deb', name: 'odd', version: '1.0-1', arch: 'amd64' })
    expect(control).toMatch(/^Package: odd\n/)
    expect(control).not.toMatch(/\n\s*\n|\n$|^(Filename|Size|SHA256):/m)
  },
})

test('a package gives every fact that the catalogue keeps', async () => {
  const bytes = await buildDeb({
    name: 'libwidget1',
    version: '1:2.0~rc1-3',
    arch: 'all',
    compression: 'xz',
    fields: {
      'Source': 'widget (2:1.9)',
      'Maintainer': 'Jo <jo@example.test>',
      'Installed-Size': '12',
      'Section': 'libs',
      'Homepage': 'https://example.test/',
      'Pre-Depends': 'dpkg (>= 1.19)',
      'Depends': 'libc6 (>> 2.3), default-mta | mail-transport-agent:any',
      'Conflicts': 'widget-old',
      'Breaks': 'gadget (<< 2)',
      'Provides': 'widget-api (= 2.0), widget-thing',
      'Multi-Arch': 'foreign',
      'Description': 'does things\n It does many things.\n .\n  * one',
    },
    files: { 'usr/lib/widget.so': 'x', 'usr/lib/widget.so.1': { symlink: 'widget.so' } },
    scripts: { postinst: '#!/bin/sh\n' },
  })
  expect(await inspect(await spoolBytes(folder, 'w.deb', bytes), signal)).toEqual({
    identity: { format: 'deb', name: 'libwidget1', version: '1:2.0~rc1-3', arch: 'all' },
    about: {
      summary: 'does things',
      description: 'It does many things.\n\n * one',
      source: 'widget',
      source_version: '2:1.9',
      homepage: 'https://example.test/',
      maintainer: 'Jo <jo@example.test>',
      section: 'libs',
      installed_size: 12288,
      depends: [
        [{ name: 'dpkg', op: '>=', version: '1.19' }],
        [{ name: 'libc6', op: '>', version: '2.3' }],
        [{ name: 'default-mta' }, { name: 'mail-transport-agent', arch: 'any' }],
      ],
      provides: [
        { name: 'libwidget1', version: '1:2.0~rc1-3' },
        { name: 'widget-api', version: '2.0' },
        { name: 'widget-thing' },
      ],
      conflicts: [[{ name: 'widget-old' }], [{ name: 'gadget', op: '<', version: '2' }]],
    },
    facts: {
      control: [
        'Package: libwidget1',
        'Version: 1:2.0~rc1-3',
        'Architecture: all',
        'Maintainer: Jo <jo@example.test>',
        'Description: does things',
        ' It does many things.',
        ' .',
        '  * one',
        'Source: widget (2:1.9)',
        'Installed-Size: 12',
        'Section: libs',
        'Homepage: https://example.test/',
        'Pre-Depends: dpkg (>= 1.19)',
        'Depends: libc6 (>> 2.3), default-mta | mail-transport-agent:any',
        'Conflicts: widget-old',
        'Breaks: gadget (<< 2)',
        'Provides: widget-api (= 2.0), widget-thing',
        'Multi-Arch: foreign',
      ].join('\n'),
    },
    paths: ['usr/lib/widget.so', 'usr/lib/widget.so.1'],
  })
})

test('blanks that only JavaScript takes for some stay where they are, line separators too', async () => {
  const description = 'odd\u00a0\n one\u2028line\u3000\n \u00a0\n last'
  const file = await spoolBytes(
    folder,
    'b.deb',
    await buildDeb({ name: 'odd', version: '1', fields: { Description: description, Homepage: 'a\u2029b' } }),
  )
  const { about, facts } = await inspect(file, signal)
  expect(facts.control).toContain(`\nDescription: ${description}\nHomepage: a\u2029b`)
  expect(about).toMatchObject({
    summary: 'odd\u00a0',
    description: 'one\u2028line\u3000\n\u00a0\nlast',
    homepage: 'a\u2029b',
  })
  for (const field of ['Package', 'Version', 'Architecture', 'Source']) {
    const spec = { name: 'odd', version: '1', fields: { [field]: `${field === 'Version' ? '1' : 'odd'}\u00a0` } }
    await expect(inspect(await spoolBytes(folder, 'c.deb', await buildDeb(spec)), signal), field).rejects.toMatchObject(
      { code: 'bad_package' },
    )
  }
})

test('a debsigs signature is handed on with the bytes it is over', async () => {
  const { control, data } = debParts({ name: 'signed', version: '1' })
  const members = [
    { name: 'debian-binary', body: '2.0\n' },
    { name: 'control.tar', body: control },
    { name: 'data.tar', body: data },
  ]
  const file = await spoolBytes(folder, 's.deb', ar([...members, { name: '_gpgorigin', body: 'SIGNATURE' }]))
  const { signature } = await inspect(file, signal)
  expect(signature?.signature.toString()).toBe('SIGNATURE')
  const signed: Buffer[] = []
  for await (const chunk of signature?.signed() ?? []) signed.push(chunk as Buffer)
  expect(Buffer.concat(signed).equals(Buffer.concat([Buffer.from('2.0\n'), control, data]))).toBe(true)
})

test('an aborted inspection stops and closes the file', async () => {
  const big = await packDeb({
    control: debParts({ name: 'big', version: '1' }).control,
    data: Buffer.alloc(64 * 2 ** 20),
  })
  const file = await spoolBytes(folder, 'big.deb', big)
  await expectAbortToClose(inspect, file)
})

describe('the inner streams', () => {
  const read = async (bytes: Buffer): Promise<Record<string, Buffer>> =>
    readStreams(inner, await spoolBytes(folder, 'i.deb', bytes))

  test.each(['gz', 'xz', 'zst', 'none'] as const)(
    'are the plain tars, whatever the compression: %s',
    async compression => {
      const spec = {
        name: 'sick',
        version: '1',
        compression,
        files: { 'usr/bin/sick': EICAR },
        scripts: { postinst: EICAR },
      }
      const { control, data } = debParts(spec)
      const streams = await read(await buildDeb(spec))
      expect(Object.keys(streams)).toEqual(['control.tar', 'data.tar'])
      expect(streams['control.tar']?.equals(control)).toBe(true)
      expect(streams['data.tar']?.equals(data)).toBe(true)
      expect(streams['data.tar']?.includes(EICAR)).toBe(true)
      expect(streams['control.tar']?.includes(EICAR)).toBe(true)
    },
  )

  test('a large payload arrives whole through the streaming decoders', async () => {
    const noise = Buffer.from(Array.from({ length: 3_000_000 }, (_, i) => ((i * 2654435761) >>> 13) & 0xff))
    for (const compression of ['gz', 'xz', 'zst', 'none'] as const) {
      const spec = {
        name: 'large',
        version: '1',
        compression,
        files: { 'usr/noise': noise, 'usr/zeros': Buffer.alloc(3_000_000) },
      }
      expect((await read(await buildDeb(spec)))['data.tar']?.equals(debParts(spec).data)).toBe(true)
    }
  })

  test('the scanner also gets what dpkg skips', async () => {
    const { control, data } = debParts({ name: 'x1', version: '1' })
    const streams = await read(
      ar([
        { name: 'debian-binary', body: '2.0\n' },
        { name: '_note', body: EICAR },
        { name: 'control.tar', body: control },
        { name: 'data.tar', body: data },
      ]),
    )
    expect(streams['_note']?.toString()).toBe(EICAR)
  })

  test('a damaged stream is refused while it is read, never cut short', async () => {
    for (const { name, bytes } of malformed.filter(
      row => /stream/.test(row.name) && !/second tar in a joined gz/.test(row.name),
    )) {
      await expect(read(bytes), name).rejects.toMatchObject({ code: 'bad_package' })
    }
  })

  test('a stream that is not read to its end closes its file', async () => {
    const file = await spoolBytes(
      folder,
      'e.deb',
      await buildDeb({
        name: 'early',
        version: '1',
        compression: 'xz',
        files: { 'usr/x': Buffer.alloc(8_000_000, 'abcdefg') },
      }),
    )
    await expectEarlyEndToClose(inner, file)
  })
})
