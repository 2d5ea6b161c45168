import { xz } from '@napi-rs/lzma'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Layout } from '../files/layout.ts'
import type { Cut } from '../formats/shards.ts'
import { readBlocks } from '../lib/xz-stream.ts'
import type { PoolFile } from './store.ts'

/** What is known of a compressed piece: `trees/.shards/ab/<digest>.json`, written last. Sizes in bytes. */
export interface ShardCard {
  readonly gz: number
  readonly xz: { readonly flags: string; readonly size: number; readonly blocks: readonly { readonly unpadded: number; readonly uncompressed: number }[] }
  /** Where clients fetch the packages in it. */
  readonly files: readonly PoolFile[]
}

/** Pieces of indexes, compressed once and kept by their digest: `.txt`, `.gz` and `.xz` (blocks only). A cache: lost, it is only slower. */
export interface ShardCache {
  path(digest: string, kind: 'txt' | 'gz' | 'xz'): string
  /** Compresses what is not there yet. */
  keep(cut: Cut, files: readonly PoolFile[]): Promise<ShardCard>
  /** @returns undefined when the piece is not there */
  find(digest: string): Promise<ShardCard | undefined>
}

const deflate = promisify(gzip)
const REMEMBERED = 4_096

export function createShardCache(layout: Pick<Layout, 'shards'>): ShardCache {
  const cards = new Map<string, ShardCard>()
  const file = (digest: string, kind: string): string => join(layout.shards, digest.slice(0, 2), `${digest}.${kind}`)

  function remember(digest: string, card: ShardCard): ShardCard {
    if (cards.size >= REMEMBERED) cards.delete(cards.keys().next().value ?? '')
    cards.set(digest, card)
    return card
  }

  async function find(digest: string): Promise<ShardCard | undefined> {
    const known = cards.get(digest)
    if (known !== undefined) return known
    try {
      return remember(digest, JSON.parse(await readFile(file(digest, 'json'), 'utf8')) as ShardCard)
    } catch {
      return undefined // not there, or torn: it is made again
    }
  }

  return {
    path: file,
    find,
    async keep({ shard: { digest }, text }, files) {
      const known = await find(digest)
      if (known !== undefined) return known
      const bytes = Buffer.from(text)
      const [gz, stream] = await Promise.all([deflate(bytes, { level: 9 }), xz.compress(bytes)])
      const { flags, blocks } = readBlocks(stream)
      const body = Buffer.concat(blocks.map(block => block.data))
      await mkdir(join(layout.shards, digest.slice(0, 2)), { recursive: true })
      await Promise.all([writeFile(file(digest, 'txt'), bytes), writeFile(file(digest, 'gz'), gz), writeFile(file(digest, 'xz'), body)])
      const card: ShardCard = { gz: gz.length, files, xz: { flags: flags.toString('hex'), size: body.length, blocks: blocks.map(({ unpadded, uncompressed }) => ({ unpadded, uncompressed })) } }
      // last: a card promises that the pieces are there
      await writeFile(file(digest, 'json'), JSON.stringify(card))
      return remember(digest, card)
    },
  }
}
