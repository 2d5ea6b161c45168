import { execFileSync } from 'node:child_process'
import { appendFileSync, existsSync, linkSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import type { Entry, Sink, SkipCounts, Skipped } from './advisory.ts'
import type { Ecosystem } from './ecosystems.ts'
import { shardOf } from './place.ts'
import { openShard, packShard, type StoredRow } from './shards.ts'

/** What one ecosystem's table holds. */
export interface EcosystemFacts {
  readonly rows: number
  /** Advisories by rank, each counted once per piece it is in. */
  readonly ranks: Readonly<Record<'1' | '2' | '3', number>>
  /** Rows by the source they came with. */
  readonly sources: Readonly<Record<string, number>>
  /** Which of the 256 pieces there are: `00`, `1f`, … */
  readonly shards: readonly string[]
}

export interface Tables extends Sink {
  /** Rows that came in since the last call, and what was left out. */
  taken(): { readonly rows: number; readonly skipped: SkipCounts }
  /**
   * Writes every ecosystem's pieces below `folder`: what has come in, and from `previous` what `keeps` says may stay.
   * Pieces that nobody touched are linked, not written.
   */
  finish(previous: string | undefined, keeps: (row: StoredRow) => boolean): Readonly<Record<Ecosystem, EcosystemFacts>>
}

/** So many rows are held in memory at most; then they wait in files. */
const MOST_HELD = 150_000
const PENDING = '.pending'
const VECTORS = '.cvss'

/** The pieces of an ecosystem, or none. */
function piecesOf(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder).filter(name => name.endsWith('.ndjson.gz')).map(name => name.slice(0, 2)).sort() : []
}

/** Everything on disk before a pointer names it: after a power cut a table without its bytes would read as nothing known. */
export function syncFolder(folder: string): void {
  try {
    execFileSync('/bin/sync', ['-f', folder], { timeout: 120_000, stdio: 'ignore' })
  } catch {
    // no coreutils here: the kernel writes it within seconds
  }
}

/** Collects rows and writes the tables of a new generation into `folder`. Works without giving way: for a thread of its own. */
export function createTables(folder: string): Tables {
  const held = new Map<Ecosystem, Map<string, StoredRow[]>>()
  const vectors = new Map<string, readonly string[]>()
  let heldRows = 0
  let rows = 0
  let skipped: SkipCounts = {}

  function spill(): void {
    for (const [ecosystem, shards] of held) {
      mkdirSync(join(folder, PENDING, ecosystem), { recursive: true })
      for (const [shard, list] of shards) appendFileSync(join(folder, PENDING, ecosystem, shard), list.map(row => `${JSON.stringify(row)}\n`).join(''))
    }
    held.clear()
    heldRows = 0
  }

  function add({ ecosystem, advisory, row }: Entry): void {
    const shards = held.get(ecosystem) ?? new Map<string, StoredRow[]>()
    held.set(ecosystem, shards)
    const shard = shardOf(row.name)
    const list = shards.get(shard)
    if (list === undefined) shards.set(shard, [{ ...row, advisory }])
    else list.push({ ...row, advisory })
    rows++
    if (++heldRows >= MOST_HELD) spill()
  }

  function pending(ecosystem: Ecosystem, shard: string): StoredRow[] {
    const path = join(folder, PENDING, ecosystem, shard)
    const waiting = existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(line => line !== '').map(line => JSON.parse(line) as StoredRow) : []
    return [...waiting, ...held.get(ecosystem)?.get(shard) ?? []]
  }

  function writeEcosystem(ecosystem: Ecosystem, previous: string | undefined, keeps: (row: StoredRow) => boolean): EcosystemFacts {
    const old = previous === undefined ? undefined : join(previous, ecosystem)
    const target = join(folder, ecosystem)
    mkdirSync(target, { recursive: true })
    const facts = { rows: 0, ranks: { 1: 0, 2: 0, 3: 0 }, sources: {} as Record<string, number>, shards: [] as string[] }
    const waiting = existsSync(join(folder, PENDING, ecosystem)) ? readdirSync(join(folder, PENDING, ecosystem)) : []
    for (const shard of [...new Set([...piecesOf(old ?? ''), ...waiting, ...held.get(ecosystem)?.keys() ?? []])].sort()) {
      const file = `${shard}.ndjson.gz`
      const there = old !== undefined && existsSync(join(old, file)) ? openShard(readFileSync(join(old, file))) : undefined
      const before = there?.names().flatMap(name => there.rows(name)) ?? []
      const kept = before.filter(keeps)
      const fresh = pending(ecosystem, shard)
      const all = [...kept, ...fresh]
      if (all.length === 0) continue
      if (fresh.length === 0 && kept.length === before.length) linkSync(join(old ?? '', file), join(target, file))
      else writeFileSync(join(target, file), packShard(all).bytes)
      facts.shards.push(shard)
      const seen = new Set<unknown>()
      for (const { advisory } of all) {
        facts.rows++
        facts.sources[advisory.source] = (facts.sources[advisory.source] ?? 0) + 1
        if (seen.has(advisory)) continue
        seen.add(advisory)
        facts.ranks[advisory.rank]++
      }
    }
    if (facts.shards.length === 0) rmSync(target, { recursive: true })
    return facts
  }

  /** Vectors by CVE, joined with those of the generation before. */
  function writeVectors(previous: string | undefined): void {
    const byShard = new Map<string, Map<string, readonly string[]>>()
    for (const [cve, list] of vectors) {
      const shard = shardOf(cve)
      byShard.set(shard, (byShard.get(shard) ?? new Map<string, readonly string[]>()).set(cve, list))
    }
    const old = previous === undefined ? undefined : join(previous, VECTORS)
    mkdirSync(join(folder, VECTORS), { recursive: true })
    for (const shard of new Set([...piecesOf(old ?? ''), ...byShard.keys()])) {
      const file = `${shard}.ndjson.gz`
      const fresh = byShard.get(shard)
      const there = old !== undefined && existsSync(join(old, file))
      if (fresh === undefined) {
        linkSync(join(old ?? '', file), join(folder, VECTORS, file))
        continue
      }
      const lines = there ? gunzipSync(readFileSync(join(old, file))).toString('utf8').split('\n').filter(line => line !== '').map(line => JSON.parse(line) as [string, readonly string[]]) : []
      const joined = new Map<string, readonly string[]>([...lines, ...fresh])
      writeFileSync(join(folder, VECTORS, file), gzipSync([...joined].map(pair => `${JSON.stringify(pair)}\n`).join(''), { level: 1 }))
    }
  }

  return {
    add,
    skip: (why: Skipped) => { skipped = { ...skipped, [why]: (skipped[why] ?? 0) + 1 } },
    vector: (cve, list) => { vectors.set(cve, [...new Set([...vectors.get(cve) ?? [], ...list])].slice(0, 4)) },
    taken() {
      const answer = { rows, skipped }
      rows = 0
      skipped = {}
      return answer
    },
    finish(previous, keeps) {
      const names = previous === undefined ? [] : readdirSync(previous, { withFileTypes: true }).filter(entry => entry.isDirectory() && !entry.name.startsWith('.')).map(entry => entry.name)
      const waiting = existsSync(join(folder, PENDING)) ? readdirSync(join(folder, PENDING)) : []
      const facts = [...new Set([...names, ...waiting, ...held.keys()])].sort().map(ecosystem => [ecosystem, writeEcosystem(ecosystem, previous, keeps)] as const)
      writeVectors(previous)
      rmSync(join(folder, PENDING), { recursive: true, force: true })
      held.clear()
      return Object.fromEntries(facts.filter(([, { shards }]) => shards.length > 0))
    },
  }
}
