import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type { Layout } from '../../files/layout.ts'
import { createVulndbLayout, currentGeneration, hashOf, pieceFile, pieceOf, type Digits } from '../store/layout.ts'

/** Exploit probability of one CVE. Both are 0 to 1; `date` is the day of the scores. Source: FIRST EPSS. */
export interface Epss {
  readonly epss: number
  readonly percentile: number
  readonly date: string
}
/** One entry of CISA's catalogue of known exploited vulnerabilities. Dates are `YYYY-MM-DD`. */
export interface Kev {
  readonly added: string
  readonly due: string
  readonly ransomware: boolean
}

/** The dates of the side tables. Times are ISO 8601. Scores of different `model`s cannot be compared. */
export interface ThreatIntelStatus {
  readonly epss?: {
    readonly date: string
    readonly model?: string
    readonly entries: number
    readonly digits: Digits
    readonly imported_at: string
  }
  readonly kev?: {
    readonly version: string
    readonly date: string
    readonly entries: number
    readonly imported_at: string
  }
}

/** What is known about exploitation. The data are local: no call touches the network. An unknown CVE is undefined. */
export interface ThreatIntel {
  epss(cve: string): Promise<Epss | undefined>
  kev(cve: string): Promise<Kev | undefined>
  status(): Promise<ThreatIntelStatus>
}

/** Lines of the side tables, as the compiler writes them. */
export type EpssLine = readonly [cve: string, epss: number, percentile: number]
export type KevLine = readonly [cve: string, added: string, due: string, ransomware: 0 | 1]

const missing = (error: NodeJS.ErrnoException): undefined => {
  if (error.code === 'ENOENT') return undefined
  throw error
}

async function readLines<Line>(path: string): Promise<readonly Line[]> {
  const bytes = await readFile(path).catch(missing)
  return bytes === undefined
    ? []
    : gunzipSync(bytes)
        .toString('utf8')
        .split('\n')
        .filter(line => line !== '')
        .map(line => JSON.parse(line) as Line)
}

interface Opened {
  readonly generation: number
  readonly status: ThreatIntelStatus
  readonly epss: Map<string, Promise<ReadonlyMap<string, EpssLine>>>
  kev: Promise<ReadonlyMap<string, KevLine>> | undefined
}

/** Reads the side tables of the live generation; switches to a new one at the next call. */
export function createThreatIntel({ layout }: { readonly layout: Pick<Layout, 'security'> }): ThreatIntel {
  const place = createVulndbLayout(layout)
  let opened: Opened | undefined

  async function open(): Promise<Opened> {
    const generation = (await currentGeneration(place)) ?? 0
    if (opened?.generation === generation) return opened
    const meta = await readFile(join(place.generation(generation), 'meta.json'), 'utf8').catch(missing)
    const status = meta === undefined ? {} : ((JSON.parse(meta) as { intel?: ThreatIntelStatus }).intel ?? {})
    return (opened = { generation, status, epss: new Map(), kev: undefined })
  }

  function table<Line extends readonly [string, ...unknown[]]>(
    lines: Promise<readonly Line[]>,
  ): Promise<ReadonlyMap<string, Line>> {
    return lines.then(all => new Map(all.map(line => [line[0], line])))
  }

  return {
    async epss(cve) {
      const { generation, status, epss } = await open()
      if (status.epss === undefined) return undefined
      const piece = pieceOf(hashOf(cve), status.epss.digits)
      const lines =
        epss.get(piece) ?? table(readLines<EpssLine>(join(place.generation(generation), '.epss', pieceFile(piece))))
      epss.set(piece, lines)
      lines.catch(() => epss.delete(piece)) // a failed read is tried again at the next call
      const found = (await lines).get(cve)
      return found === undefined ? undefined : { epss: found[1], percentile: found[2], date: status.epss.date }
    },
    async kev(cve) {
      const now = await open()
      if (now.status.kev === undefined) return undefined
      now.kev ??= table(readLines<KevLine>(join(place.generation(now.generation), '.kev', 'kev.ndjson.gz')))
      const found = (await now.kev).get(cve)
      return found === undefined ? undefined : { added: found[1], due: found[2], ransomware: found[3] === 1 }
    },
    status: async () => (await open()).status,
  }
}
