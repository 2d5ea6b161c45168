import { getFormat } from '../../formats/index.ts'
import type { FetchPath } from '../../formats/upstream.ts'
import { parseTarget } from '../../outbound/target.ts'
import type { Source } from '../source.ts'
import { createDownload, type UpstreamFile, type DownloadOptions } from './download.ts'
import { createAsk, readOn, type AskDeps, type Mirrors } from './mirrors.ts'
import { openTree } from './tree.ts'

/** A source that is being read. */
export interface Reached {
  readonly fetch: FetchPath
  /** How many bytes came so far. */
  bytes(): number
  /** The base address that answered last. */
  mirror(): string | undefined
}

/** Reads repositories of others, over HTTP or from a directory. */
export interface Reach {
  /**
   * Opens a source: over HTTP with its mirrors, or a directory tree. Requests begin with `fetch`.
   * @throws outbound_refused for an address that is never fetched; tree_refused for a directory that may not be read
   */
  open(source: Pick<Source, 'kind' | 'urls' | 'format'>, options: { readonly signal: AbortSignal }): Reached
  /**
   * Fetches a package file into a folder; its name there is its digest. Size and digests are checked, and what is there
   * of an earlier try is continued, across restarts too. One download of a file at a time.
   * @returns the path of the whole file
   * @throws outbound_failed, outbound_refused; upstream_refused when no server has the bytes that the index promised
   */
  download(
    source: Pick<Source, 'kind' | 'urls' | 'format'>,
    file: UpstreamFile,
    options: DownloadOptions,
  ): Promise<string>
}

export interface ReachDeps extends AskDeps {
  /** Directories below which trees may lie. */
  readonly treeRoots: () => readonly string[]
}

/** One segment of a path in an address. `+` is a blank to some servers. */
const encodeSegment = (text: string): string => encodeURIComponent(text).replaceAll('%2B', '%2b')

/** What is encoded already stays as it is. */
const encodeHref = (text: string): string =>
  text.replace(/%[0-9a-f]{2}|[^%]+|%/gi, part => (/^%../.test(part) ? part : encodeSegment(part)))

/** The servers of a source, in the order they are asked. @throws outbound_refused */
export function mirrorsOf({ urls, format }: Pick<Source, 'urls' | 'format'>): Mirrors {
  const encode = getFormat(format).upstream?.namesAddresses === true ? encodeHref : encodeSegment
  return {
    bases: urls.map(url => parseTarget(url.endsWith('/') ? url : `${url}/`)),
    encode: path => path.split('/').map(encode).join('/'),
  }
}

/** Makes the one way to repositories of others. */
export function createReach(deps: ReachDeps): Reach {
  const ask = createAsk(deps)
  return {
    open(source, { signal }) {
      let seen = 0
      let answered: string | undefined
      if (source.kind === 'tree') {
        const tree = openTree({ roots: deps.treeRoots(), folder: source.urls[0] ?? '' })
        const count = (bytes: number): void => void (seen += bytes)
        return {
          fetch: async path => {
            const chunks = await tree.read(path, { signal, onBytes: count })
            answered = source.urls[0]
            return chunks
          },
          bytes: () => seen,
          mirror: () => answered,
        }
      }
      const mirrors = mirrorsOf(source)
      let { bases } = mirrors
      return {
        async fetch(path, { maxBytes }) {
          const now: Mirrors = { ...mirrors, bases }
          const first = await ask(now, path, { signal })
          if (first === undefined) return undefined
          const onMirror = (base: URL): void => {
            answered = base.href
            // the next file comes from where this one was there
            bases = [base, ...bases.filter(one => one !== base)]
          }
          const chunks = readOn(ask, { mirrors: now, path, first, from: 0 }, { signal, onMirror })
          return bounded(chunks, maxBytes, bytes => void (seen += bytes))
        },
        bytes: () => seen,
        mirror: () => answered,
      }
    },
    download: createDownload(ask, deps, mirrorsOf),
  }
}

/** Passes bytes on until there are more than `maxBytes`: the reader refuses such a file, so the rest is not fetched. */
async function* bounded(chunks: AsyncIterable<Buffer>, maxBytes: number, onBytes: (bytes: number) => void) {
  let seen = 0
  for await (const chunk of chunks) {
    onBytes(chunk.length)
    seen += chunk.length
    yield chunk
    if (seen > maxBytes) return
  }
}
