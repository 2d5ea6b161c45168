import { existsSync, lstatSync } from 'node:fs'
import { readdir, readlink, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Layout } from '../../files/layout.ts'
import { swapLink } from '../../lib/atomic.ts'

/**
 * Where compiled advisories lie, below `/repos/security`:
 *
 *     vulndb
 *     ├── 7/meta.json                      what was loaded, from when, how many
 *     ├── 7/debian-12/<00-ff>.ndjson.gz    advisories by package name; a small table has 16 pieces, or one called `all`
 *     ├── 7/.cvss/<00-ff>.ndjson.gz        ratings by CVE, for advisories without one
 *     ├── 7/.epss/<00-ff>.ndjson.gz        exploit probability by CVE
 *     ├── 7/.kev/kev.ndjson.gz             known exploited vulnerabilities
 *     ├── 7/.jars/index                    releases of Java libraries by the SHA-1 of their jars
 *     ├── 8.part/                          being built; removed at the next import when it was cut off
 *     ├── current ─▶ 7                     the commit point: one rename of a link
 *     ├── feeds.json                       etags and times of the feeds
 *     └── import.lock                      the process that imports
 *
 * One generation before the current one is kept.
 */
export interface VulndbLayout {
  readonly folder: string
  readonly link: string
  readonly lock: string
  readonly feeds: string
  generation(n: number): string
}

/** The index of jars in the folder of a generation. */
export const jarIndexFile = (generation: string): string => join(generation, '.jars', 'index')

/** The paths of the vulnerability data below one folder. */
export function createVulndbLayout({ security }: Pick<Layout, 'security'>): VulndbLayout {
  const folder = join(security, 'vulndb')
  return {
    folder,
    link: join(folder, 'current'),
    lock: join(folder, 'import.lock'),
    feeds: join(folder, 'feeds.json'),
    generation: n => join(folder, String(n)),
  }
}

const isGeneration = (name: string): boolean => /^\d+$/.test(name)

/** The number of the live generation, or undefined before the first import. */
export async function currentGeneration(place: VulndbLayout): Promise<number | undefined> {
  // asked at each upload, on many machines in vain: a rejected promise costs a hundred times as much
  if (lstatSync(place.link, { throwIfNoEntry: false }) === undefined) return undefined
  const target = await readlink(place.link).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  return target !== undefined && isGeneration(target) ? Number(target) : undefined
}

/** Makes the newest generation current that is there: a backup has no link that says which one was. */
export async function useNewest(place: VulndbLayout): Promise<void> {
  const names = (await readdir(place.folder).catch(() => [])).filter(isGeneration)
  const whole = names.map(Number).filter(n => existsSync(join(place.generation(n), 'meta.json')))
  if (whole.length > 0) await swapLink(String(Math.max(...whole)), place.link)
}

/** Removes what no reader can ask for any more: everything but the current generation and the one before it. */
export async function sweepGenerations(place: VulndbLayout): Promise<void> {
  const current = (await currentGeneration(place)) ?? 0
  const names = await readdir(place.folder).catch(() => [])
  const numbers = names
    .filter(isGeneration)
    .map(Number)
    .filter(n => n < current)
    .sort((a, b) => b - a)
  const old = [
    ...numbers.slice(1).map(String),
    ...names.filter(name => isGeneration(name) && Number(name) > current),
    ...names.filter(name => name.endsWith('.part')),
  ]
  for (const name of old) await rm(join(place.folder, name), { recursive: true, force: true })
}

/** The number of hex digits of the hash that cut a table: 0, 1 or 2, so 1, 16 or 256 pieces. */
export type Digits = 0 | 1 | 2

/** Opening a file costs more than reading a few hundred rows of it. */
export function digitsFor(rows: number): Digits {
  return rows > 20_000 ? 2 : rows > 1_000 ? 1 : 0
}

/** Two hex digits, always the same for one name (FNV-1a). */
export function hashOf(name: string): string {
  let hash = 0x811c9dc5
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193)
  return ((hash ^ (hash >>> 8) ^ (hash >>> 16)) & 255).toString(16).padStart(2, '0')
}

/** Every hash: `00` to `ff`. */
export const HASHES: readonly string[] = Array.from({ length: 256 }, (_, n) => n.toString(16).padStart(2, '0'))

/** The piece of a table for this hash: `1f`, `1`, or `all`. */
export function pieceOf(hash: string, digits: Digits): string {
  return digits === 0 ? 'all' : hash.slice(0, digits)
}

/** The file of a piece. */
export function pieceFile(piece: string): string {
  return `${piece}.ndjson.gz`
}
