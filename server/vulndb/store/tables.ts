import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import type { Entry, Sink, SkipCounts, Skipped } from '../advisory.ts'
import type { Ecosystem } from '../match/ecosystems.ts'
import { createCveRatings } from './cve-ratings.ts'
import { digitsFor, hashOf, HASHES, pieceFile, pieceOf, type Digits } from './layout.ts'
import { openShard, packShard, type StoredRow } from './shards.ts'

/**
 * What one source brought for an ecosystem. `newest` is the last change of its advisories, ISO 8601, where they say it.
 */
export interface SourceShare {
  readonly rows: number
  readonly newest?: string
}

/** The content of one ecosystem's table. */
export interface EcosystemFacts {
  readonly rows: number
  /** Advisories by rank, counted once per piece. */
  readonly ranks: Readonly<Record<'1' | '2' | '3', number>>
  readonly sources: Readonly<Record<string, SourceShare>>
  readonly digits: Digits
  /** The pieces there are: `00`, `1f`, … */
  readonly pieces: readonly string[]
}

/** What a generation keeps of the one before. */
export interface Before {
  readonly folder: string
  readonly ecosystems: Readonly<Record<Ecosystem, EcosystemFacts>>
  readonly vectorDigits: Digits
  /** False when a table with rows of only these sources stays as it is. */
  mayDrop(sources: readonly string[]): boolean
  keeps(row: StoredRow): boolean
}

/** Whether a new row is the newest version of its record; asked once the kept rows are known. */
export type IsNewest = (row: StoredRow) => boolean

export interface Written {
  readonly ecosystems: Readonly<Record<Ecosystem, EcosystemFacts>>
  readonly vectorDigits: Digits
}

export interface Tables extends Sink {
  /** New rows since the last call, and what was left out. */
  taken(): { readonly rows: number; readonly skipped: SkipCounts }
  /**
   * Writes every ecosystem's pieces below `folder`, new and kept rows together. Tables without changes are linked, not
   * written.
   */
  finish(before: Before | undefined, isNewest?: IsNewest): Written
}

/** How many rows are kept in memory; more go to files. */
const MOST_HELD = 150_000
const PENDING = '.pending'

/**
 * Flushes everything to disk before a pointer names it: after a power cut a table without its bytes would read as
 * empty.
 */
export function syncFolder(folder: string): void {
  try {
    execFileSync('/bin/sync', ['-f', folder], { timeout: 120_000, stdio: 'ignore' })
  } catch {
    // no coreutils here: the kernel writes it within seconds
  }
}

/** Collects rows and writes the tables of a new generation into `folder`. Blocks: run it in a thread of its own. */
export function createTables(folder: string): Tables {
  const held = new Map<Ecosystem, Map<string, StoredRow[]>>()
  const counts = new Map<Ecosystem, number>()
  const ratings = createCveRatings()
  let heldRows = 0
  let rows = 0
  let skipped: SkipCounts = {}

  function spill(): void {
    for (const [ecosystem, shards] of held) {
      mkdirSync(join(folder, PENDING, ecosystem), { recursive: true })
      for (const [shard, list] of shards)
        appendFileSync(join(folder, PENDING, ecosystem, shard), list.map(row => `${JSON.stringify(row)}\n`).join(''))
    }
    held.clear()
    heldRows = 0
  }

  function add({ ecosystem, advisory, row }: Entry): void {
    const shards = held.get(ecosystem) ?? new Map<string, StoredRow[]>()
    held.set(ecosystem, shards)
    const hash = hashOf(row.name)
    const list = shards.get(hash)
    if (list === undefined) shards.set(hash, [{ ...row, advisory }])
    else list.push({ ...row, advisory })
    rows++
    counts.set(ecosystem, countOf(ecosystem) + 1)
    if (++heldRows >= MOST_HELD) spill()
  }

  /** The rows that wait for a piece, in memory and in files. */
  function pending(ecosystem: Ecosystem, isIn: (hash: string) => boolean): StoredRow[] {
    const waiting = join(folder, PENDING, ecosystem)
    const files = existsSync(waiting) ? readdirSync(waiting).filter(isIn) : []
    const spilled = files.flatMap(hash =>
      readFileSync(join(waiting, hash), 'utf8')
        .split('\n')
        .filter(line => line !== '')
        .map(line => JSON.parse(line) as StoredRow),
    )
    return [...spilled, ...[...(held.get(ecosystem) ?? [])].filter(([hash]) => isIn(hash)).flatMap(([, rows]) => rows)]
  }

  const countOf = (ecosystem: Ecosystem): number => counts.get(ecosystem) ?? 0

  /** Rows of the generation before whose names hash into a piece. The size of the pieces may have changed. */
  function keptRows(
    { folder: old, ecosystems, keeps }: Before,
    ecosystem: Ecosystem,
    isIn: (hash: string) => boolean,
  ): StoredRow[] {
    const facts = ecosystems[ecosystem]
    return (facts?.pieces ?? [])
      .filter(piece => HASHES.some(hash => isIn(hash) && pieceOf(hash, facts?.digits ?? 0) === piece))
      .flatMap(piece => {
        const shard = openShard(readFileSync(join(old, ecosystem, pieceFile(piece))))
        return shard
          .names()
          .filter(name => isIn(hashOf(name)))
          .flatMap(name => shard.rows(name))
          .filter(keeps)
      })
  }

  function linkEcosystem(ecosystem: Ecosystem, { folder: old }: Before, facts: EcosystemFacts): EcosystemFacts {
    mkdirSync(join(folder, ecosystem))
    for (const piece of facts.pieces)
      linkSync(join(old, ecosystem, pieceFile(piece)), join(folder, ecosystem, pieceFile(piece)))
    return facts
  }

  function writeEcosystem(
    ecosystem: Ecosystem,
    before: Before | undefined,
    isNewest: IsNewest,
  ): EcosystemFacts | undefined {
    const known = before?.ecosystems[ecosystem]
    if (
      before !== undefined &&
      known !== undefined &&
      countOf(ecosystem) === 0 &&
      !before.mayDrop(Object.keys(known.sources))
    )
      return linkEcosystem(ecosystem, before, known)
    const digits = digitsFor(countOf(ecosystem) + (known?.rows ?? 0))
    const facts = {
      rows: 0,
      ranks: { 1: 0, 2: 0, 3: 0 },
      sources: {} as Record<string, SourceShare>,
      digits,
      pieces: [] as string[],
    }
    for (const piece of new Set(HASHES.map(hash => pieceOf(hash, digits)))) {
      const isIn = (hash: string): boolean => pieceOf(hash, digits) === piece
      const rowsOfPiece = [
        ...(before === undefined ? [] : keptRows(before, ecosystem, isIn)),
        ...pending(ecosystem, isIn).filter(isNewest),
      ]
      if (rowsOfPiece.length === 0) continue
      mkdirSync(join(folder, ecosystem), { recursive: true })
      writeFileSync(join(folder, ecosystem, pieceFile(piece)), packShard(rowsOfPiece))
      facts.pieces.push(piece)
      const seen = new Set<unknown>()
      for (const { advisory } of rowsOfPiece) {
        facts.rows++
        facts.sources[advisory.source] = addTo(facts.sources[advisory.source], advisory.modified)
        if (!seen.has(advisory)) facts.ranks[advisory.rank]++
        seen.add(advisory)
      }
    }
    return facts.rows === 0 ? undefined : facts
  }

  return {
    add,
    skip: (why: Skipped) => {
      skipped = { ...skipped, [why]: (skipped[why] ?? 0) + 1 }
    },
    vector: ratings.vector,
    rate: ratings.rate,
    taken() {
      const answer = { rows, skipped }
      rows = 0
      skipped = {}
      return answer
    },
    finish(before, isNewest = () => true) {
      const names = [...new Set([...Object.keys(before?.ecosystems ?? {}), ...counts.keys()])].sort()
      const written = names.map(ecosystem => [ecosystem, writeEcosystem(ecosystem, before, isNewest)] as const)
      const vectorDigits = ratings.write(folder, before)
      rmSync(join(folder, PENDING), { recursive: true, force: true })
      held.clear()
      return {
        ecosystems: Object.fromEntries(
          written.filter((pair): pair is [string, EcosystemFacts] => pair[1] !== undefined),
        ),
        vectorDigits,
      }
    },
  }
}

function addTo(share: SourceShare | undefined, modified: string | undefined): SourceShare {
  const newest = [share?.newest, modified]
    .filter(date => date !== undefined)
    .sort()
    .at(-1)
  return { rows: (share?.rows ?? 0) + 1, ...(newest === undefined ? {} : { newest }) }
}
