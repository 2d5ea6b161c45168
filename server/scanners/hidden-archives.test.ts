import { gzipSync, zstdCompressSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { tar } from '../../test/support/packages.ts'
import { buildZip } from '../../test/support/zip.ts'
import { createCpioWriter } from '../lib/cpio-writer.ts'
import { createUnopened } from './hidden-archives.ts'

const MIB = 1024 * 1024
const hidden = zstdCompressSync(tar([{ name: 'e.com', body: 'what must be looked at' }]))
/** So many MiB in an archive that is a thousandth of that. */
const bulk = (mib: number): Buffer => {
  const piece = gzipSync(Buffer.alloc(20 * MIB))
  return Buffer.concat([
    gzipSync(tar([{ name: 'x', body: '' }]).subarray(0, 512)),
    ...Array.from({ length: mib / 20 }, () => piece),
  ])
}

/** What of a payload is handed out, and what is said not to have been looked at. */
async function lookInto(
  files: readonly { readonly name: string; readonly body: Buffer }[],
): Promise<{ readonly out: string[]; readonly told: string[] }> {
  const out: string[] = []
  const told: string[] = []
  const unopened = createUnopened({
    scan: async (where, chunks) => {
      out.push(where)
      for await (const _ of chunks) {
        /* all of it */
      }
    },
    cannot: (where, why) => {
      told.push(`${where}: ${why}`)
    },
  })
  for await (const _ of unopened.follow(
    'data.tar',
    (async function* () {
      yield tar(files)
    })(),
  )) {
    /* all of it */
  }
  return { out, told }
}

test('files behind very large archives are scanned, or reported as not scanned', async () => {
  const archive = { name: 'b.tar.gz', body: gzipSync(tar([{ name: 'a.zst', body: hidden }])) }
  expect(await lookInto([archive])).toEqual({ out: ['data.tar!/b.tar.gz!/a.zst'], told: [] })
  const { out, told } = await lookInto([{ name: 'a.tar.gz', body: bulk(540) }, archive])
  expect(out).toEqual([])
  expect(told).toContain(
    'data.tar!/b.tar.gz: the archives in this package unpack to more than 512 MiB, and the rest of them was not looked through',
  )
})

test('a large archive that is packed once more is told, whatever its name', async () => {
  const inside = Buffer.concat([hidden, Buffer.alloc(17 * MIB)])
  expect(await lookInto([{ name: 'x.dat', body: gzipSync(inside) }])).toEqual({
    out: [],
    told: ['data.tar!/x.dat: it is larger than 16 MiB, and clamd does not open it'],
  })
  expect(
    await lookInto([{ name: 'x.dat', body: gzipSync(Buffer.concat([gzipSync('x'), Buffer.alloc(17 * MIB)])) }]),
  ).toEqual({ out: [], told: [] })
})

test('a large archive is told by its first bytes, too; a large library of objects is none', async () => {
  const large = (head: Buffer | string): Buffer => Buffer.concat([Buffer.from(head), Buffer.alloc(17 * MIB)])
  const files = [
    { name: 'a.dat', body: large(hidden) },
    { name: 'b.dat', body: large('!<arch>\ndebian-binary   ') },
    { name: 'c.dat', body: large('!<arch>\n/               ') },
    { name: 'd.dat', body: large('text') },
    { name: 'e.dat', body: hidden },
  ]
  const told = ['a.dat', 'b.dat'].map(name => `${name}: it is larger than 16 MiB, and clamd does not open it`)
  expect(await lookInto(files)).toEqual({ out: ['data.tar!/e.dat'], told: told.map(line => `data.tar!/${line}`) })
  expect(await lookInto([{ name: 'x.zip', body: buildZip(files) }])).toEqual({
    out: [],
    told: told.map(line => `data.tar!/x.zip!/${line}`),
  })

  const writer = createCpioWriter()
  const cpio = files.flatMap(({ name, body }) => [
    ...writer.write({ name, mode: 0o100644, size: body.length, type: 'file' }),
    ...writer.write({ bytes: body }),
  ])
  expect(await lookInto([{ name: 'x.zst', body: zstdCompressSync(Buffer.concat([...cpio, writer.end()])) }])).toEqual({
    out: ['data.tar!/x.zst', 'data.tar!/x.zst!/e.dat'],
    told: told.map(line => `data.tar!/x.zst!/${line}`),
  })
})

test('a large archive in a zip that clamd does not open is told, as it is in a tar', async () => {
  const large = buildZip([
    { name: 'a.txt', body: Buffer.alloc(17 * MIB) },
    { name: 'a.tar.zst', body: Buffer.alloc(17 * MIB) },
    { name: 'b.tar.zst', body: hidden },
  ])
  expect(await lookInto([{ name: 'x.zip', body: large }])).toEqual({
    out: ['data.tar!/x.zip!/b.tar.zst'],
    told: ['data.tar!/x.zip!/a.tar.zst: it is larger than 16 MiB, and clamd does not open it'],
  })
})
