import { createHash } from 'node:crypto'
import type { FetchPath, Upstream, UpstreamPlace, UpstreamReader } from '../../formats/upstream.ts'
import type { TrustedKeys } from '../../signing/trusted-keys.ts'
import type { Source } from '../source.ts'
import { noting, type KeyAnswer } from './key-answers.ts'

/** A root that is verified, with all that a thread needs to open it again without asking. */
export interface OpenedRoot {
  readonly roots: Upstream['roots']
  /** One digest over all of them. */
  readonly sha256: string
  readonly files: readonly (readonly [path: string, bytes: Uint8Array | undefined])[]
  readonly answers: readonly KeyAnswer[]
  readonly place: Omit<UpstreamPlace, 'fetch' | 'keys'>
}

/** What a reader needs to know of a source. */
export const placeOf = (source: Source, now: Date): OpenedRoot['place'] => ({
  now,
  // a medium that was written once does not get younger
  ...(source.allowExpired || source.kind === 'tree' ? { allowExpired: true } : {}),
  ...(source.signed ? {} : { unsigned: true }),
  ...(source.suite === undefined ? {} : { suite: source.suite }),
  ...(source.components.length === 0 ? {} : { components: source.components }),
  archs: source.archs,
})

/** Keeps what is fetched through it. */
function keeping(fetch: FetchPath): { readonly fetch: FetchPath; readonly files: Map<string, Uint8Array | undefined> } {
  const files = new Map<string, Uint8Array | undefined>()
  async function* kept(path: string, chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    const parts: Buffer[] = []
    for await (const chunk of chunks) {
      parts.push(chunk)
      yield chunk
    }
    files.set(path, new Uint8Array(Buffer.concat(parts)))
  }
  return {
    files,
    fetch: async (path, limits) => {
      const found = await fetch(path, limits)
      if (found === undefined) files.set(path, undefined)
      return found && kept(path, found)
    },
  }
}

/** Fetches and verifies the root of a source. @throws upstream_refused; what `fetch` throws */
export async function openRoot(
  reader: UpstreamReader,
  source: Source,
  { fetch, keys, now }: { readonly fetch: FetchPath; readonly keys: TrustedKeys; readonly now: Date },
): Promise<OpenedRoot> {
  const keeper = keeping(fetch)
  const noted = noting(keys)
  const place = placeOf(source, now)
  const { roots } = await reader.open({ ...place, fetch: keeper.fetch, keys: noted.keys })
  const hash = createHash('sha256')
  for (const { path, sha256 } of roots) hash.update(`${path} ${sha256}\n`)
  return { roots, sha256: hash.digest('hex'), files: [...keeper.files], answers: noted.answers, place }
}
