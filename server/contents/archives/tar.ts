import { isZero } from '../../lib/collector.ts'
import { malformed } from '../../lib/limited.ts'
import {
  BLOCK,
  checkHeader,
  extensionSize,
  isExtension,
  readEntry,
  readExtension,
  type Ahead,
  type TarEntry,
} from '../../lib/tar-header.ts'
import type { EntryFacts, OpenFile, OtherMember, Unopened } from '../reader.ts'
import { printCapabilities } from '../scripts/capabilities.ts'
import type { Source } from '../source.ts'

/** A path of an archive, relative to its root. */
export const cleanPath = (name: string): string => name.replace(/^(?:\.?\/)+/, '').replace(/\/+$/, '')

/** The checksum of a header, which also the oldest tars have. Source: tar(5), "Old-Style Archive Format" */
function isSummed(head: Buffer): boolean {
  const field = head.toString('latin1', 148, 156)
  if (head[0] === 0 || !/^ *[0-7]{1,7}[\0 ]+$/.test(field)) return false
  let sum = 8 * 0x20
  for (let at = 0; at < BLOCK; at++) if (at < 148 || at >= 156) sum += head[at] ?? 0
  return sum === parseInt(field.trim(), 8)
}

/** Whether these are the first bytes of a tar. */
export const isTar = (head: Buffer): boolean =>
  head.length >= BLOCK && (head.toString('latin1', 257, 262) === 'ustar' || isSummed(head))

const MODE = { from: 100, to: 108 }

const USER = { id: [108, 116], name: [265, 297] } as const
const GROUP = { id: [116, 124], name: [297, 329] } as const

/** Who owns an entry; 0 is root, whatever name stands beside it. Undefined where the header does not say it. */
function ownerOf(header: Buffer, { id, name }: typeof USER | typeof GROUP): string | undefined {
  const digits = header.toString('latin1', ...id).replace(/[ \0]+$/, '')
  const number = /^ *[0-7]+$/.test(digits) ? parseInt(digits, 8) : undefined
  if (number === 0) return 'root'
  const called = header.toString('latin1', 257, 262) === 'ustar' ? header.toString('utf8', ...name) : ''
  return called.replace(/\0.*$/s, '') || number?.toString()
}

/** What the header says of an entry; a mode that cannot be read is none. */
function entryOf(header: Buffer, { type, link }: TarEntry, { capability }: Ahead): EntryFacts {
  const mode = parseInt(header.toString('latin1', MODE.from, MODE.to).replace(/[^0-7]/g, ''), 8)
  const owners = [ownerOf(header, USER), ownerOf(header, GROUP)]
  return {
    type,
    ...(Number.isNaN(mode) ? {} : { mode }),
    ...(owners.includes(undefined) ? {} : { owner: owners.join(':') }),
    ...(link === '' ? {} : { link }),
    ...(capability === undefined ? {} : { capabilities: printCapabilities(capability) }),
  }
}

const padded = (size: number): number => Math.ceil(size / BLOCK) * BLOCK - size
const what = 'the tar'

/** @throws Malformed when something follows the end mark, where tar does not look */
async function mustEnd(source: Source): Promise<void> {
  for await (const bytes of source.rest()) if (!isZero(bytes)) malformed(`${what} goes on behind its end mark`)
}

const SPARSE = 'It is a sparse file, whose holes are not filled in.'

function octalSize(header: Buffer, from: number): number {
  const digits = header.toString('latin1', from, from + 12).replace(/[ \0]+$/, '')
  return /^ *[0-7]+$/.test(digits)
    ? parseInt(digits, 8)
    : malformed(`${what} holds a sparse file whose size is no octal number`)
}

/** Passes over a sparse file of old GNU tar, behind whose header more of its map can stand. */
async function skipSparse(source: Source, header: Buffer): Promise<void> {
  for (let goesOn = header[482] === 1; goesOn;) {
    const more = (await source.take(BLOCK)) ?? malformed(`${what} is cut off`)
    goesOn = more[504] === 1
  }
  const size = octalSize(header, 124)
  await source.skip(size + padded(size))
}

/** The name in a pax header of a sparse file; undefined for every other header. */
const sparseName = (body: Buffer): string | undefined =>
  /\d+ GNU\.sparse\.\w+=/.test(body.toString('latin1'))
    ? (/\d+ GNU\.sparse\.name=([^\n]*)\n/.exec(body.toString('utf8'))?.[1] ?? '')
    : undefined

/**
 * The files of a tar in its order; v7, ustar, GNU long names and pax.
 * @param place  before each path: empty, or `app.tar!/`
 * @param isChecked  the format check has read its headers, so they need not be summed up again
 * Sparse files are named as unopened.
 * @throws Malformed where it is damaged
 */
export async function* tarFiles(
  source: Source,
  {
    place,
    entries,
    isChecked = false,
  }: { readonly place: string; readonly entries: number; readonly isChecked?: boolean },
): AsyncGenerator<OpenFile | OtherMember | Unopened> {
  let ahead: Ahead = {}
  let sparse: string | undefined
  let n = 0
  for (let block = await source.take(BLOCK); block !== undefined; block = await source.take(BLOCK)) {
    if (isZero(block)) return mustEnd(source)
    if (++n > entries) malformed(`${what} holds more than ${entries} entries`)
    if (!isChecked) checkHeader(block, { dialect: 'any', what })
    const flag = String.fromCharCode(block[156] ?? 0)
    if (isExtension(flag)) {
      const size = extensionSize(block, flag, what)
      const body = (await source.take(size)) ?? malformed(`${what} is cut off`)
      const named = flag === 'x' ? sparseName(body) : undefined
      sparse ??= named
      if (named === undefined) ahead = { ...ahead, ...readExtension(body, flag, what) }
      await source.skip(padded(size))
      continue
    }
    if (flag === 'S') {
      const name = ahead.name ?? block.toString('utf8', 0, 100).replace(/\0.*$/s, '')
      ahead = {}
      yield { path: `${place}${cleanPath(name)}`, size: octalSize(block, 483), why: SPARSE }
      await skipSparse(source, block)
      continue
    }
    const member = readEntry(block, ahead, what)
    const { name, type, size } = member
    const entry = entryOf(block, member, ahead)
    ahead = {}
    const path = `${place}${cleanPath(sparse || name)}`
    if (sparse !== undefined) {
      sparse = undefined
      yield { path, size, why: SPARSE }
      await source.skip(size + padded(size))
    } else if (type === 'file') {
      yield { ...(await source.file(path, size)), entry }
      await source.skip(padded(size))
    } else yield { other: path, entry }
  }
}
