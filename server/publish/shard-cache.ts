import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { promisify } from 'node:util'
import { constants, deflateRaw, gzip } from 'node:zlib'
import type { Layout } from '../files/layout.ts'
import { pieceFile } from '../files/recipes.ts'
import type { Piece, Shard } from '../formats/shards.ts'
import type { IndexKind } from '../formats/tree.ts'
import { XZ_FLAGS, xzBlock } from '../lib/xz-stream.ts'
import type { Joiner } from './joiner.ts'
import type { PoolFile } from './store.ts'

/** A compressed piece in one form: its size in bytes, and for xz the blocks that a joined stream lists at its end. */
export interface Packed {
  readonly size: number
  readonly xz?: {
    readonly flags: string
    readonly blocks: readonly { readonly unpadded: number; readonly uncompressed: number }[]
  }
}

/** The card of a piece: `trees/.shards/ab/<digest>.json`, written last, so the other files exist when it does. */
export interface ShardCard {
  readonly schema: 3
  readonly packed: Partial<Record<IndexKind, Packed>>
  /** Bytes of each entry's text, in order: an entry can be taken out again without knowing its format. */
  readonly lengths: readonly number[]
  /**
   * Where clients fetch the packages in it, in the same order; empty where another index of the architecture says it.
   */
  readonly files: readonly PoolFile[]
}

/** Pieces of indexes, compressed once and kept by their digest. A cache: lost, it is only slower. */
export interface ShardCache {
  path(digest: string, kind: IndexKind): string
  /**
   * Compresses missing pieces. Existing ones count as new, so that they are not removed before a generation names them.
   */
  keep(
    piece: Piece,
    made: { readonly files: readonly PoolFile[]; readonly kinds: readonly IndexKind[] },
  ): Promise<{ readonly card: ShardCard; readonly isNew: boolean }>
  /** @returns undefined when the piece is not there */
  find(digest: string): Promise<ShardCard | undefined>
  /** Whether the piece is on disk whole, in every form its card names; then it counts as new. */
  refresh(digest: string): Promise<boolean>
  /** Pieces that are on disk count as new. */
  touch(digests: readonly string[]): Promise<void>
  /** The text of each piece. @throws Error when one is gone, or holds anything but what its digest names */
  texts(pieces: readonly Pick<Shard, 'digest'>[]): Promise<readonly Buffer[]>
  /** @throws Error when the piece is not there: only for pieces that a generation in the making is made of */
  get(digest: string): Promise<ShardCard>
  /**
   * The piece in this form, which is made where it was not kept: releases before had fewer forms.
   * @throws Error when the piece is not there
   */
  packed(digest: string, kind: IndexKind): Promise<Packed>
}

const gz = promisify(gzip)
const deflate = promisify(deflateRaw)
/** Pieces whose forms are in memory: every publication asks for those of each piece. */
const REMEMBERED = 16_384
/** Pieces whose whole card is in memory, some 25 KB each: a publication asks for those that it changes. */
const CARDS = 64
/** Of gzip. 9 takes up to four times as long; a Packages gets 0.03 % smaller by it, rpm's XML up to 6 %. */
const LEVEL = 6

type Packing = (bytes: Buffer) => Promise<{ readonly body: Buffer; readonly packed: Packed }>

const PACK: Record<IndexKind, Packing> = {
  '': bytes => Promise.resolve({ body: bytes, packed: { size: bytes.length } }),
  '.gz': async bytes => {
    const body = await gz(bytes, { level: LEVEL })
    return { body, packed: { size: body.length } }
  },
  '.deflate': async bytes => {
    // ends on a byte and is not the last block, so that others can follow in the same stream
    const body = await deflate(bytes, { level: LEVEL, finishFlush: constants.Z_FULL_FLUSH })
    return { body, packed: { size: body.length } }
  },
  '.xz': async bytes => {
    const { data, unpadded, uncompressed } = await xzBlock(bytes)
    return {
      body: data,
      packed: { size: data.length, xz: { flags: XZ_FLAGS.toString('hex'), blocks: [{ unpadded, uncompressed }] } },
    }
  },
}

/** The card of a piece on disk; undefined when it is not there, or torn: it is made again. */
export async function readCard(layout: Pick<Layout, 'shards'>, digest: string): Promise<ShardCard | undefined> {
  try {
    const card = JSON.parse(await readFile(pieceFile(layout, digest, '.json'), 'utf8')) as ShardCard
    return card.schema === 3 ? card : undefined
  } catch {
    return undefined
  }
}

/** The newest entries of a map, by the order in which they were set. */
function setNewest<T>(map: Map<string, T>, most: number, [key, value]: readonly [string, T]): void {
  map.delete(key)
  if (map.size >= most) map.delete(map.keys().next().value ?? '')
  map.set(key, value)
}

/** The cache below one root, with the newest cards in memory, and the forms of many more. */
export function createShardCache(layout: Pick<Layout, 'shards'>, thread: Pick<Joiner, 'take' | 'read'>): ShardCache {
  const cards = new Map<string, ShardCard>()
  const forms = new Map<string, ShardCard['packed']>()
  const path = (digest: string, kind: IndexKind | '.json'): string => pieceFile(layout, digest, kind)

  function remember(digest: string, card: ShardCard): ShardCard {
    setNewest(cards, CARDS, [digest, card])
    setNewest(forms, REMEMBERED, [digest, card.packed])
    return card
  }

  const formsOf = async (digest: string): Promise<ShardCard['packed'] | undefined> =>
    forms.get(digest) ?? (await find(digest))?.packed

  async function find(digest: string): Promise<ShardCard | undefined> {
    const known = cards.get(digest)
    if (known !== undefined) return known
    const card = await readCard(layout, digest)
    return card === undefined ? undefined : remember(digest, card)
  }

  /**
   * A card in memory does not prove that the files exist: they may have been removed since, and a power cut leaves
   * empty files.
   */
  async function refresh(digest: string): Promise<boolean> {
    const known = await formsOf(digest)
    if (known === undefined) return false
    const files = Object.entries(known).map(([kind, { size }]) => ({ place: path(digest, kind as IndexKind), size }))
    try {
      const sizes = await Promise.all(files.map(async ({ place }) => (await stat(place)).size))
      if (files.some(({ size }, n) => size !== sizes[n])) return forget(digest)
      await touch([digest])
      return true
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return forget(digest)
      throw error
    }
  }

  async function touch(digests: readonly string[]): Promise<void> {
    const found = await Promise.all(digests.map(async digest => ({ digest, packed: await formsOf(digest) })))
    const at = new Date()
    await thread.take(
      found.flatMap(({ digest, packed }) =>
        packed === undefined
          ? []
          : [...(Object.keys(packed) as IndexKind[]), '.json' as const].map(kind => ({
              do: 'touch' as const,
              path: path(digest, kind),
              at,
            })),
      ),
    )
  }

  async function get(digest: string): Promise<ShardCard> {
    const card = await find(digest)
    if (card === undefined) throw new Error(`the piece ${digest} of an index is not in the cache`)
    return card
  }

  async function texts(pieces: readonly Pick<Shard, 'digest'>[]): Promise<readonly Buffer[]> {
    const files = await thread.read(pieces.map(({ digest }) => path(digest, '')))
    for (const [n, { digest }] of pieces.entries())
      if (
        createHash('sha256')
          .update(files[n] ?? '')
          .digest('hex') !== digest
      )
        throw new Error(`the piece ${digest} of an index is damaged`)
    return files
  }

  async function packed(digest: string, kind: IndexKind): Promise<Packed> {
    const known = (await formsOf(digest))?.[kind]
    if (known !== undefined) return known
    const card = await get(digest)
    const made = await PACK[kind](await readFile(path(digest, '')))
    const fuller: ShardCard = { ...card, packed: { ...card.packed, [kind]: made.packed } }
    await thread.take([
      { do: 'write', path: path(digest, kind), bytes: made.body },
      { do: 'write', path: path(digest, '.json'), bytes: JSON.stringify(fuller) },
    ])
    remember(digest, fuller)
    return made.packed
  }

  function forget(digest: string): false {
    cards.delete(digest)
    forms.delete(digest)
    return false
  }

  return {
    path,
    find,
    refresh,
    touch,
    texts,
    get,
    packed,
    async keep({ shard: { digest }, text, lengths }, { files, kinds }) {
      const known = (await refresh(digest)) ? await find(digest) : undefined
      if (known !== undefined && kinds.every(kind => known.packed[kind] !== undefined))
        return { card: known, isNew: false }
      const bytes = Buffer.from(text)
      const forms: readonly IndexKind[] = [...new Set<IndexKind>(['', ...kinds])]
      const made = await Promise.all(forms.map(async kind => ({ kind, ...(await PACK[kind](bytes)) })))
      const packed = Object.fromEntries(made.map(one => [one.kind, one.packed]))
      const card: ShardCard = { schema: 3, packed: { ...known?.packed, ...packed }, lengths, files }
      await thread.take([
        ...made.map(({ kind, body }) => ({ do: 'write' as const, path: path(digest, kind), bytes: body })),
        { do: 'write', path: path(digest, '.json'), bytes: JSON.stringify(card) },
      ])
      return { card: remember(digest, card), isNew: known === undefined }
    },
  }
}
